"""The first rows of a topic in a bucket come after few bytes, and all of them without fetching any twice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import pulsar_backlog
from tests.ledgers.conftest import S3Server, aws, s3_server
from tests.ledgers.encoding import offload
from tests.ledgers.faulty import FaultyProxy, faulty
from tests.wire.encode import entry, number, run

__all__ = ["aws", "s3_server"]

ENTRIES = 3000
MIB = 1024 * 1024


@pytest.fixture
def proxy(s3_server: S3Server, aws: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    with faulty(s3_server.endpoint) as found:
        yield found


def test_five_rows_of_a_large_ledger_are_few_bytes(s3_server: S3Server, proxy: FaultyProxy) -> None:
    payload = bytes(10 * 1024)
    bodies = [entry(run(1, b"p") + number(2, n) + number(3, 1_700_000_000_000), payload) for n in range(ENTRIES)]
    stored = offload(bodies, block_bytes=16 * MIB)
    name = "0f8fad5b-d9cb-469f-a165-70867728950e-ledger-7"
    s3_server.fill("large", {name: (stored.data, {}), f"{name}-index": (stored.index, {})})
    reader = pulsar_backlog.open("s3://large", endpoint=proxy.endpoint).messages(columns=["entry_id"])
    first = reader.read_next_batch()
    assert first.num_rows >= 5
    assert proxy.sent < MIB
    rest = reader.read_all().column("entry_id").to_pylist()
    assert first.column("entry_id").to_pylist() + rest == list(range(ENTRIES))
    assert proxy.sent < len(stored.data) + MIB
