"""How sure a verdict is, and why, in plain words.

Every doubt has a weight; the heaviest decides, and all of them are told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

from pulsar_backlog.chunks.damage import Resent, about_copies
from pulsar_backlog.chunks.rows import ChunkRow, LogEdge, stored_at_ms, trusted
from pulsar_backlog.chunks.states import beyond_grace, wrote_later
from pulsar_backlog.terms import INCOMPLETE, State, Sureness, least_sure

Doubt = tuple[Sureness, str]

OutOfPlace = Literal["none", "damaged", "other_bytes"]

_OUT_OF_PLACE: dict[OutOfPlace, str] = {
    "damaged": "every chunk is stored undamaged, but only damaged copies put them in order",
    "other_bytes": "the copies that add up to the recorded total are not in order; only with others are they",
}


CERTAIN_REASON: dict[State, str] = {
    "whole": "every chunk is stored, in order and undamaged",
    "out_of_order": "every chunk is stored and undamaged, and the positions show the order",
    "orphan_prefix": "the log goes on well after the last stored chunk, but the rest is not in it",
    "headless": "the log is known from before the message on, but its first chunk is not in it",
    "gap": "the log around the missing chunks is known, but they are not in it",
    "in_flight": "",  # never certain
    "malformed": "the chunk fields are invalid",
}
"""What is said when there is no doubt."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the doubts are drawn from.

    Attributes:
        state: state of the publication.
        rows: all its rows, in position order.
        relied_on: the rows that state and rebuildable rest on: the picks, or all when incomplete.
        newest: the newest row, with a producer name that can be believed.
        present: stored chunk ids, ascending.
        n: chunks the message was cut into.
        metadata_conflict: whether its chunks contradict each other.
        out_of_place: which copies put a whole message in order, when those that are used do not.
        copies_differ: whether copies of one chunk differ.
        copies_fall_short: whether those that differ are too short for the recorded total, and those relied on hold it.
        count_lies: whether every byte of the recorded total is stored, in another number of chunks than is recorded.
        sizes_contradict: whether slices, count and total contradict each other.
        total_contradicted: whether all chunks are stored and their bytes are not the recorded total.
        uncompressed_size_lies: whether all chunks are stored, uncompressed, and `uncompressed_size` is another.
        may_arrive: whether chunks are missing that may still come.
        near_damage: what damaged entries near it make uncertain, where chunks are missing.
        resent: chunk ids of all sound copies under the uuid, by their bytes.
    """

    state: State
    rows: Sequence[ChunkRow]
    relied_on: Sequence[ChunkRow]
    newest: ChunkRow
    present: Sequence[int]
    n: int
    metadata_conflict: bool
    out_of_place: OutOfPlace
    copies_differ: bool
    copies_fall_short: bool
    count_lies: bool
    sizes_contradict: bool
    total_contradicted: bool
    uncompressed_size_lies: bool
    may_arrive: bool
    near_damage: Sequence[str]
    resent: Resent


def judge(facts: Facts, edge: LogEdge) -> tuple[Sureness, str]:
    """Sureness and its reason."""
    doubts = [*_doubts_about_bytes(facts), *_doubts_about_sizes(facts), *_doubts_about_log(facts, edge)]
    if not doubts:
        return "certain", CERTAIN_REASON[facts.state]
    return least_sure(sureness for sureness, _ in doubts), "; ".join(text for _, text in doubts)


def _doubts_about_bytes(facts: Facts) -> Iterator[Doubt]:
    damaged = [row for row in facts.relied_on if not trusted(row)]
    if not any(trusted(row) for row in facts.rows):
        yield "cannot_tell", "every stored copy is damaged, so it may be a part of another message"
    if damaged:
        yield "likely", about_copies(damaged, facts.resent)
    if any(row.checksum_state == "absent" for row in facts.relied_on):
        yield "likely", "chunks are stored without a checksum"
    if facts.out_of_place in _OUT_OF_PLACE:
        yield "likely", _OUT_OF_PLACE[facts.out_of_place]
    if facts.copies_differ and facts.copies_fall_short:
        yield "likely", "copies of one chunk differ, and only those that are used add up to the recorded total"
    elif facts.copies_differ:
        yield "cannot_tell", "copies of one chunk differ, and nothing tells which is right"
    if facts.metadata_conflict:
        yield "likely", "its chunks contradict each other"


def _doubts_about_sizes(facts: Facts) -> Iterator[Doubt]:
    if facts.count_lies:
        yield "likely", "every byte that its total counts is stored, but the recorded count of chunks is another"
    elif facts.sizes_contradict and facts.state in INCOMPLETE:
        yield "likely", "its sizes contradict each other, so whether chunks are missing is not certain"
    if facts.total_contradicted:
        yield "likely", "every chunk is stored, but the recorded total contradicts their bytes"
    if facts.uncompressed_size_lies:
        yield (
            "likely",
            "every chunk is stored, but the recorded uncompressed size, which no client looks at, is another",
        )


def _doubts_about_log(facts: Facts, edge: LogEdge) -> Iterator[Doubt]:
    if facts.state == "in_flight":
        yield _why_in_flight(facts.newest, edge)
        return
    if facts.state == "malformed" and facts.may_arrive:
        yield "likely", "more of it may still be arriving"
    yield from (("likely", words) for words in facts.near_damage)
    if facts.state not in INCOMPLETE:
        return
    if edge.has_rejects:
        yield "likely", "entries of the topic could not be decoded, and one may be a missing chunk"
    if facts.state == "headless":
        yield from _doubts_about_head(facts.rows[0], edge)
    elif not edge.begins_at_start and _is_near_begin(facts.rows[0], edge):
        yield "likely", "it may be a resend, and the message may be whole before the first ledger that is seen"
    if edge.absent_ledgers and _gap_covers_absent_ledger(facts, edge):
        yield "cannot_tell", "missing chunks may lie in a ledger that was not scanned"
    if _gap_covers_unknown_seam(facts, edge):
        yield "likely", "nothing says whether other ledgers lie between those that are seen"
    yield from _doubts_about_tail(facts, edge)


def _why_in_flight(newest: ChunkRow, edge: LogEdge) -> Doubt:
    if newest.ledger_id in edge.open_ledgers:
        return "likely", "its ledger is still open and may grow"
    if edge.end_time_ms is None:
        return "cannot_tell", "the time at which the log ends is unknown"
    if edge.complete_to_end:
        return "likely", "the topic's end is seen, but the newest chunk is within the grace time of it"
    return "cannot_tell", "the log ends within the grace time after the newest chunk"


def _doubts_about_head(first: ChunkRow, edge: LogEdge) -> Iterator[Doubt]:
    if edge.begins_at_start:
        return
    if edge.first_ledger_id is None or first.ledger_id <= edge.first_ledger_id:
        yield "cannot_tell", "the message may begin before the first ledger that is seen"
    else:
        yield "likely", "the log before the first ledger that is seen is unknown"


def _is_near_begin(first: ChunkRow, edge: LogEdge) -> bool:
    """Whether what a producer sends again after a reconnect may have begun before the log that is seen."""
    return edge.begin_time_ms is not None and stored_at_ms(first) - edge.begin_time_ms <= edge.grace_ms


def _gap_covers_absent_ledger(facts: Facts, edge: LogEdge) -> bool:
    """Whether a ledger that was not scanned lies where a missing chunk would lie."""
    first, last = facts.rows[0].ledger_id, facts.rows[-1].ledger_id
    if facts.state == "headless" and any(ledger < first for ledger in edge.absent_ledgers):
        return True
    if any(first < ledger < last for ledger in edge.absent_ledgers):
        return True
    return any(last < ledger < _tail_ends(facts, edge) for ledger in edge.absent_ledgers)


def _gap_covers_unknown_seam(facts: Facts, edge: LogEdge) -> bool:
    """Whether two scanned ledgers, with perhaps others between them, lie where a missing chunk would lie."""
    first, last = facts.rows[0].ledger_id, facts.rows[-1].ledger_id
    begin = -1 if facts.state == "headless" else first
    return any(begin <= ledger < max(last, _tail_ends(facts, edge)) for ledger in edge.unknown_after)


def _tail_ends(facts: Facts, edge: LogEdge) -> float:
    """The ledger up to which chunks after the newest may lie; its own when the last one is stored."""
    newest = facts.newest
    if not _tail_is_missing(facts):
        return newest.ledger_id
    # A producer goes on to its next entry only when it is done with this message.
    return edge.producer_last[newest.producer_name][0] if wrote_later(newest, edge) else inf


def _doubts_about_tail(facts: Facts, edge: LogEdge) -> Iterator[Doubt]:
    newest = facts.newest
    if edge.is_final:
        return
    if edge.is_terminated:
        # A ledger that is known to be absent is named; what else lies before the end, nothing names.
        if _tail_is_missing(facts) and not wrote_later(newest, edge) and not _is_before_absent(newest, edge):
            yield "cannot_tell", "the topic is terminated, but it was not read to its last entry"
    elif not beyond_grace(newest, edge):
        yield "likely", "its producer went on to other messages, but the log ends within the grace time"
    elif _tail_is_missing(facts) and not wrote_later(newest, edge) and not edge.producers_gone:
        yield "likely", "its producer wrote nothing later, and may have been slower than the grace time"


def _is_before_absent(row: ChunkRow, edge: LogEdge) -> bool:
    return any(ledger > row.ledger_id for ledger in edge.absent_ledgers)


def _tail_is_missing(facts: Facts) -> bool:
    return not facts.present or facts.present[-1] != facts.n - 1
