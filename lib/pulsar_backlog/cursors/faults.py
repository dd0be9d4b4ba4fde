"""What cannot be right in a cursor's state, seen against the topic's ledgers. Nothing of it counts as acknowledged.

One function per fault; each returns sentences' worth of evidence, positions first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from pulsar_backlog.cursors.acked import MAX_ENTRY_ID
from pulsar_backlog.cursors.values import AckState
from pulsar_backlog.wire.arrays import Int64s

MAX_NAMED = 20


@dataclass(frozen=True, slots=True)
class StateFault:
    """Something in a state that cannot be right.

    Attributes:
        code: of the finding.
        what: in words, with numbers.
        count: how many places.
        evidence: some of them.
    """

    code: str
    what: str
    count: int
    evidence: tuple[str, ...]


def faults_of(state: AckState, lengths: Mapping[int, int | None]) -> Iterator[StateFault]:
    """Everything wrong with a state.

    Args:
        state: as on the wire.
        lengths: entries of each ledger of the topic, None while open; empty when the ledgers are not known.
    """
    yield from _reversed_ranges(state.ranges)
    yield from _overlapping_ranges(state.ranges)
    yield from _both_forms(state)
    if lengths:
        yield from _gone_ledgers(state, lengths)
        yield from _beyond_end(state, lengths)
    yield from _impossible_batches(state)
    if state.unknown_fields:
        yield StateFault("K15", "fields of a newer version", 1, ())


_BROKERS_OWN = ("pulsar.", "#pulsar.internal.")
_OF_PULSAR = ("pulsar.replicated.subscription", "#pulsar.internal.delayed.bucket")


def unknown_properties(names: Iterable[str]) -> Iterator[StateFault]:
    """Properties that brokers keep in a cursor for themselves and this version does not know; applications' are theirs.

    Known are the mark of replicated subscriptions and the buckets of delayed delivery, neither of which acknowledges.
    Not for deduplication's cursor, whose properties are named as producers.
    Source: https://github.com/apache/pulsar/blob/492eb456/managed-ledger/src/main/java/org/apache/bookkeeper/mledger/ManagedCursor.java
    """
    unknown = sorted(name for name in names if name.startswith(_BROKERS_OWN) and not name.startswith(_OF_PULSAR))
    if unknown:
        yield StateFault("K15", "properties of a newer version", len(unknown), tuple(unknown[:MAX_NAMED]))


def _reversed_ranges(ranges: Int64s) -> Iterator[StateFault]:
    lower, upper = ranges[:, :2], ranges[:, 2:]
    bad = (lower[:, 0] > upper[:, 0]) | ((lower[:, 0] == upper[:, 0]) & (lower[:, 1] >= upper[:, 1]))
    bad |= (ranges[:, 1] < -1) | (ranges[:, 3] < 0) | (ranges[:, 3] > MAX_ENTRY_ID) | (ranges[:, 0] < 0)
    if bad.any():
        yield StateFault(
            "K11", "ranges that end before they begin or lie outside any ledger", int(bad.sum()), _named(ranges[bad])
        )


def _overlapping_ranges(ranges: Int64s) -> Iterator[StateFault]:
    if len(ranges) < 2:
        return
    ordered = ranges[np.lexsort((ranges[:, 1], ranges[:, 0]))]
    same = ordered[1:, 0] == ordered[:-1, 2]
    bad = (same & (ordered[1:, 1] < ordered[:-1, 3])) | (ordered[1:, 0] < ordered[:-1, 2])
    if bad.any():
        yield StateFault("K11", "ranges that overlap", int(bad.sum()), _named(ordered[1:][bad]))


def _both_forms(state: AckState) -> Iterator[StateFault]:
    if len(state.ranges) and state.long_lists:
        yield StateFault("K11", "ranges and long lists in one state; brokers read the ranges only", 1, ())


def _gone_ledgers(state: AckState, lengths: Mapping[int, int | None]) -> Iterator[StateFault]:
    named = {
        state.mark_delete[0],
        *np.unique(state.ranges[:, [0, 2]]).tolist(),
        *(one.ledger_id for one in state.long_lists),
    }
    named |= {batch.ledger_id for batch in state.batches}
    # Mark-delete often names a trimmed ledger; what lies before the first ledger is over and done.
    gone = sorted(named - set(lengths) - {id_ for id_ in named if id_ < min(lengths)})
    if gone:
        yield StateFault(
            "K05", "ledgers that the topic does not have", len(gone), tuple(f"ledger {id_}" for id_ in gone[:MAX_NAMED])
        )


def _beyond_end(state: AckState, lengths: Mapping[int, int | None]) -> Iterator[StateFault]:
    highest: dict[int, int] = {state.mark_delete[0]: state.mark_delete[1]}
    for ledger_id in np.unique(state.ranges[:, 2]).tolist():
        top = int(state.ranges[state.ranges[:, 2] == ledger_id, 3].max())
        highest[ledger_id] = max(top, highest.get(ledger_id, -1))
    for one in state.long_lists:
        words = np.flatnonzero(one.words)
        if len(words):
            top = (int(words[-1]) << 6) + (int(one.words[words[-1]]) & (1 << 64) - 1).bit_length() - 1
            highest[one.ledger_id] = max(top, highest.get(one.ledger_id, -1))
    over = [
        (id_, top) for id_, top in sorted(highest.items()) if (length := lengths.get(id_)) is not None and top >= length
    ]
    if over:
        evidence = tuple(f"{id_}:{top}, and the ledger has {lengths[id_]} entries" for id_, top in over[:MAX_NAMED])
        yield StateFault("K05", "positions beyond the end of their ledger", len(over), evidence)


def _impossible_batches(state: AckState) -> Iterator[StateFault]:
    """What no batch can be like; whether the indexes fit the batch is seen where entries are at hand."""
    bad = [f"{b.ledger_id}:{b.entry_id}" for b in state.batches if not any(b.words) or b.entry_id < 0]
    if bad:
        yield StateFault("K12", "batch indexes that no batch has", len(bad), tuple(bad[:MAX_NAMED]))


def _named(ranges: Int64s) -> tuple[str, ...]:
    return tuple(f"({a}:{b}..{c}:{d}]" for a, b, c, d in ranges[:MAX_NAMED].tolist())
