"""How transactions ended, asked by several threads at once: each waits until all markers are read, once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa

from pulsar_backlog.api.decoded import Run
from pulsar_backlog.api.transactions import Transactions
from pulsar_backlog.messages.entry_rows import Stretch
from pulsar_backlog.messages.kinds import ABORTED, COMMITTED, OPEN
from pulsar_backlog.wire.markers import TXN_ABORT, TXN_COMMIT


def run(first: int, transactions: list[int], kinds: list[int | None]) -> Run:
    ids = np.arange(first, first + len(kinds))
    zero = np.zeros(len(kinds), dtype=np.int64)
    columns = pa.RecordBatch.from_pydict(
        {
            "ledger_id": pa.array(zero),
            "entry_id": pa.array(ids),
            "marker_type": pa.array(kinds, pa.int32()),
            "txnid_most_bits": pa.array(zero),
            "txnid_least_bits": pa.array(transactions, pa.int64()),
        }
    )
    return Run(columns, Stretch(0, "object", ids, zero, zero, zero, zero, zero, zero), np.empty(0, np.uint8), zero)


def test_each_thread_sees_all_markers_and_they_are_read_once() -> None:
    read = []

    def runs() -> Iterator[Run]:
        read.append(1)
        yield run(3, [1], [TXN_COMMIT])
        time.sleep(0.1)
        yield run(4, [2], [TXN_ABORT])

    transactions = Transactions("persistent://a/b/c", runs)
    messages = run(0, [1, 2, 3], [None] * 3)
    with ThreadPoolExecutor(4) as pool:
        states = [*pool.map(lambda _: transactions.states(messages).tolist(), range(4))]
    assert states == [[COMMITTED, ABORTED, OPEN]] * 4
    assert read == [1]
