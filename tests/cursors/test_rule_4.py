"""Nothing is named for acknowledging that is, was or will be a message: random logs, seen in part, against the whole.

The oracle knows the whole log, the future included; the code sees the ledgers that were scanned, up to some moment,
with what a broker's list, its indexes and its statistics say. Producers are like real ones: they send the chunks of a
message in order, perhaps again from an earlier one, and go on with it within the grace time or never.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from pulsar_backlog.chunks.fold import fold_family
from pulsar_backlog.chunks.rows import ChunkRow, Publication
from pulsar_backlog.cluster.values import LedgerRecord, TopicState
from pulsar_backlog.steps.log_edges import _edge, _unlisted_seams
from pulsar_backlog.subscriptions.stall_values import ChunkSet, Copy, SubscriptionView
from pulsar_backlog.subscriptions.stalls import judge
from tests.chunks.build import row
from tests.examples import examples

GRACE_MS = 1000
SOON_MS, LATE_MS = 10, 5000


@dataclass(frozen=True)
class Stored:
    """An entry of the whole log: a chunk of the family, or anything else (`chunk` is None) of some producer."""

    ledger_id: int
    entry_id: int
    index: int
    time_ms: int
    producer: str
    chunk: tuple[int, int, int] | None
    """Number of the publication, chunk id, number of chunks."""


@dataclass(frozen=True)
class Seen:
    """What of it can be seen."""

    entries: list[Stored]
    row: dict[str, Any]
    topic: TopicState
    unknown_after: tuple[int, ...]
    rejected: frozenset[tuple[int, int]]


def seldom(draw: st.DrawFn) -> bool:
    """True about one time in five."""
    return draw(st.integers(0, 4)) == 4


@st.composite
def sends(draw: st.DrawFn) -> list[tuple[tuple[int, int, int] | None, bool]]:
    """What the family's producer sends: chunks and other messages, each with whether a long time passes before it."""
    sent: list[tuple[tuple[int, int, int] | None, bool]] = []
    for number in range(draw(st.sampled_from([1, 1, 2, 3]))):
        n = draw(st.integers(2, 3))
        late = draw(st.booleans())
        chunk_id = 0
        for _ in range(draw(st.sampled_from([1, 2, 2, 3, 6]))):
            sent.append(((number, chunk_id, n), late))
            late = False
            # The next one, or from an earlier one again after a reconnect; or another thread's message between.
            chunk_id = chunk_id + 1 if draw(st.integers(0, 3)) else draw(st.integers(0, chunk_id))
            if chunk_id == n:
                break
            if seldom(draw):
                sent.append((None, False))
        if draw(st.booleans()):
            sent.append((None, draw(st.booleans())))
    return sent


@st.composite
def logs(draw: st.DrawFn) -> list[Stored]:
    """The whole log, the future included."""
    log: list[Stored] = []
    ledger_id, entry_id, time_ms = draw(st.integers(1, 3)), 0, 100_000
    for chunk, late in draw(sends()):
        for producer in [*draw(st.lists(st.just("other"), max_size=2)), "p"]:
            # Nobody waits in the middle of a message for longer than the grace time and then goes on.
            time_ms += LATE_MS if producer == "p" and late else SOON_MS
            log.append(Stored(ledger_id, entry_id, len(log), time_ms, producer, chunk if producer == "p" else None))
            entry_id += 1
            if draw(st.booleans()):
                ledger_id, entry_id = ledger_id + draw(st.integers(1, 2)), 0
    for _ in range(draw(st.integers(0, 4))):
        time_ms += draw(st.sampled_from([LATE_MS, SOON_MS]))
        log.append(Stored(ledger_id, entry_id, len(log), time_ms, draw(st.sampled_from(["p", "other"])), None))
        entry_id += 1
    return log


@st.composite
def views_of(draw: st.DrawFn, log: list[Stored]) -> Seen | None:
    """A part of the log, and what the broker said at one moment; None when nothing of it is seen."""
    until = draw(st.integers(1, len(log))) if draw(st.booleans()) else len(log)
    past = log[:until]
    existing = sorted({one.ledger_id for one in past})
    scanned = [id_ for id_ in existing if not seldom(draw)]
    entries = [one for one in past if one.ledger_id in scanned]
    if not entries:
        return None
    some_rejected = seldom(draw)
    rejected = frozenset((e.ledger_id, e.entry_id) for e in entries if some_rejected and draw(st.booleans()))
    told = draw(st.integers(0, until)) if seldom(draw) else until  # a snapshot may be older than what is stored
    listed = sorted({one.ledger_id for one in log[:told]})
    listed = listed[draw(st.integers(0, len(listed))) :] if seldom(draw) else listed  # the first ones are trimmed
    topic = TopicState("")
    if draw(st.booleans()):
        last = log[told - 1] if told else None
        topic = TopicState(
            "t",
            tuple(LedgerRecord(id_, "t", entries=None if id_ == max(listed) else 1) for id_ in listed),
            last_confirmed=(last.ledger_id, last.entry_id) if last and draw(st.booleans()) else None,
            publishers=draw(st.sampled_from([None, 1])) if _goes_on(log[told:]) else 0,
        )
    lists = [{one.ledger_id: one.entries != 0 for one in topic.ledgers}] if topic.ledgers else []
    has_indexes = draw(st.booleans())
    row_ = {
        "begin_time_ms": min(one.time_ms for one in entries),
        "end_time_ms": max(one.time_ms for one in entries),
        "first_ledger_id": entries[0].ledger_id,
        "begins_at_start": has_indexes and entries[0].index == 0,
        "last_ledger_id": entries[-1].ledger_id,
        "last_entry_id": entries[-1].entry_id,
        "has_rejects": bool(rejected),
        "open_ledgers": [existing[-1]] if seldom(draw) else [],
        "scanned": scanned,
        "unscanned": [id_ for id_ in existing if id_ not in scanned] if draw(st.booleans()) else [],
    }
    seams = ((one, after) for one, after in pairwise(entries) if one.ledger_id != after.ledger_id)
    bridged = {one.ledger_id for one, after in seams if has_indexes and after.index == one.index + 1}
    return Seen(entries, row_, topic, tuple(sorted(_unlisted_seams(scanned, lists) - bridged)), rejected)


def _goes_on(future: list[Stored]) -> bool:
    """Whether the family's producer sends more of a message: then it is connected when the broker is asked."""
    return any(one.producer == "p" for one in future)


def chunk_rows(entries: list[Stored]) -> Iterator[ChunkRow]:
    for one in entries:
        if one.chunk is not None:
            number, chunk_id, n = one.chunk
            yield row(
                chunk_id, one.entry_id, n, ledger_id=one.ledger_id, publish_time_ms=number,
                broker_timestamp_ms=one.time_ms,
            )  # fmt: skip


def chunk_sets(seen: Seen) -> Iterator[ChunkSet]:
    """The publications that are seen, as the stall rules take them."""
    edge = _edge(seen.row, seen.topic, [], seen.unknown_after, GRACE_MS)
    entries = [one for one in seen.entries if (one.ledger_id, one.entry_id) not in seen.rejected]
    mine = [(one.ledger_id, one.entry_id) for one in entries if one.producer == "p"]
    rows = list(chunk_rows(entries))
    if not rows:
        return
    folded = fold_family(rows, replace(edge, producer_last={"p": max(mine)}))
    for publication in folded.publications:
        copies = tuple(
            Copy((role.ledger_id, role.entry_id), role.chunk_id, role.role, role.payload_length)
            for role in folded.roles
            if role.publish_time_ms == publication.publish_time_ms
        )
        yield _chunk_set(publication, copies, folded.publications)


def _chunk_set(one: Publication, copies: tuple[Copy, ...], family: tuple[Publication, ...]) -> ChunkSet:
    return ChunkSet(
        one.chunk_uuid, one.publish_time_ms, one.state, frozenset(one.flags), one.rebuildable, one.sureness, one.reason,
        one.num_chunks, copies, any(p.state == "in_flight" for p in family), any(p.rebuildable for p in family),
    )  # fmt: skip


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Stored], Seen | None, SubscriptionView, list[bool]]:
    log = draw(logs())
    places = st.sampled_from([(0, 0)] * len(log) + [(one.ledger_id, one.entry_id) for one in log])
    kinds = st.sampled_from(["Shared", "Exclusive", "Key_Shared", "Failover", None])
    view = SubscriptionView("s", draw(kinds), draw(places), draw(st.none() | places), draw(st.none() | places))
    return log, draw(views_of(log)), view, draw(st.lists(st.booleans(), min_size=24, max_size=24))


@examples(2000)
@given(cases())
def test_what_is_acknowledged_away_is_no_message_in_the_whole_log(
    case: tuple[list[Stored], Seen | None, SubscriptionView, list[bool]],
) -> None:
    log, seen, view, acks = case
    if seen is None:
        return
    for chunks in chunk_sets(seen):
        acked = [copy.position <= view.mark_delete or acks[at % len(acks)] for at, copy in enumerate(chunks.copies)]
        verdict = judge(chunks, acked, view)
        if verdict is None or verdict.action not in ("acknowledge", "skip"):
            continue
        event(f"{chunks.state} is acknowledged")
        gone = {copy.position for copy in verdict.unacked}
        mine = [one for one in log if one.chunk and one.chunk[0] == chunks.publish_time_ms]
        ever = {one.chunk[1] for one in mine if one.chunk}
        left = {one.chunk[1] for one in mine if one.chunk and (one.ledger_id, one.entry_id) not in gone}
        # A surplus beginning of a message that is whole elsewhere may go; what makes it whole may not.
        assert len(ever) < chunks.num_chunks or len(left) == chunks.num_chunks, (chunks, verdict)
