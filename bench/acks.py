"""`python -m bench.acks`: acknowledgement state, from ten thousand ranges to ten million, and many subscriptions.

One cursor: its entries are acknowledged two of three, so that a range takes three entries of span. Decoding, the set,
the prediction (sizes in each form, what is dropped), and the pass over the span's entries, in seconds; bytes of the
state in each form and of the bitmap that is kept and sent. Many subscriptions: the pass over one ledger of 50,000
entries for all of them at once. Nothing here needs Spark: these are the calls that its tasks make.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from pulsar_backlog.cursors.acked import AckedSet, acked_set
from pulsar_backlog.cursors.decode import decode_position_info
from pulsar_backlog.cursors.newest import Sighting, newest
from pulsar_backlog.cursors.predict import Limits, predict
from pulsar_backlog.cursors.values import AckState
from pulsar_backlog.subscriptions.ack_runs import AckJoin, Piece, rows_of
from pulsar_backlog.subscriptions.stall_values import SubscriptionView
from pulsar_backlog.subscriptions.states import SubscriptionState, state_of
from tests.cursors.encode import encode_position_info

LEDGER = 7
BATCH = 10_000
"""Entries that Spark hands over at once."""

T = TypeVar("T")


def timed(action: Callable[[], T]) -> tuple[float, T]:
    """Seconds of the processor, and the result."""
    began = time.process_time()
    result = action()
    return time.process_time() - began, result


def state_with(ranges: int, ledger_id: int = LEDGER) -> AckState:
    """A cursor with so many ranges in one ledger."""
    at = np.arange(ranges, dtype=np.int64) * 3
    ids = np.full(ranges, ledger_id)
    return AckState((ledger_id, -1), np.column_stack((ids, at, ids, at + 2)))


def walked(state: SubscriptionState, entries: int) -> int:
    """Runs of unacknowledged entries that one pass over a ledger finds."""
    join = AckJoin(state.opened(LEDGER))
    for start in range(0, entries, BATCH):
        ids = np.arange(start, min(start + BATCH, entries))
        ones = np.ones(len(ids), dtype=np.int64)
        join.add(Piece(ids, ones * 1024, ones, ids))
    join.finish()
    return sum(columns.shape[1] for columns in rows_of(join))


def joinable(acked: AckedSet, name: str) -> SubscriptionState:
    """The state as tasks get it."""
    return state_of(SubscriptionView(name, None, acked.mark_delete), acked, {}, None)


def one_cursor(ranges: int) -> str:
    """A line of the curve."""
    data = encode_position_info(state_with(ranges))
    decode, state = timed(lambda: decode_position_info(data))
    make, acked = timed(lambda: acked_set(state))
    found = newest([Sighting("stats_internal", "", acked)])
    foresee, prediction = timed(lambda: predict(found, Limits(), {}))
    kept = joinable(acked, "s")
    walk, runs = timed(lambda: walked(kept, 3 * ranges))
    assert runs == ranges
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return (
        f"{ranges:>12,} {3 * ranges:>12,} {len(data):>13,} {prediction.long_array_bytes:>12,}"
        f" {len(kept.ledgers[LEDGER]):>12,} {decode:>8.2f} {make:>8.2f} {foresee:>8.2f} {walk:>8.2f} {peak:>9,}"
    )


def many_subscriptions(count: int, entries: int, ranges: int) -> str:
    """The pass over one ledger for many subscriptions."""
    acked = acked_set(state_with(ranges))
    states = [joinable(acked, str(number)) for number in range(count)]
    held = sum(len(state.ledgers[LEDGER]) for state in states)
    seconds, _ = timed(lambda: [walked(state, entries) for state in states])
    return (
        f"{count:,} subscriptions with {ranges:,} ranges each, one ledger of {entries:,} entries: {seconds:.2f} s,"
        f" {seconds / count * 1000:.2f} ms each; {held:,} bytes of bitmaps"
    )


def main(argv: list[str]) -> int:
    """Print the curve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=10_000_000, help="ranges of the largest cursor")
    most = parser.parse_args(argv).most
    one_cursor(1000)  # compiles
    print(
        f"{'ranges':>12} {'span':>12} {'as ranges':>13} {'as list':>12} {'bitmap':>12}"
        f" {'decode s':>8} {'set s':>8} {'predict':>8} {'pass s':>8} {'peak MiB':>9}"
    )
    ranges = 10_000
    while ranges <= most:
        print(one_cursor(ranges), flush=True)
        ranges *= 10
    print(many_subscriptions(1000, 50_000, 10_000))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
