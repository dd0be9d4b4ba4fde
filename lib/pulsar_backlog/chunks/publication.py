"""One publication of which nothing is taken for granted: state, flags, sizes, sureness, manifest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

from pulsar_backlog.chunks import damage, passes, sizes, states, sureness
from pulsar_backlog.chunks import parts as taken
from pulsar_backlog.chunks.damage import Resent
from pulsar_backlog.chunks.extent import ledgers_of, manifest_of, roles_from, span_entries, span_ms
from pulsar_backlog.chunks.parts import Parts
from pulsar_backlog.chunks.rows import (
    NO_DAMAGE,
    ChunkRole,
    ChunkRow,
    Damaged,
    DecodeState,
    Flag,
    LogEdge,
    Publication,
    position,
    stored_at_ms,
    trusted,
)
from pulsar_backlog.chunks.sureness import OutOfPlace
from pulsar_backlog.terms import State, Sureness


@dataclass(frozen=True, slots=True)
class FamilyFacts:
    """What the other publications of the uuid say about this one.

    Attributes:
        flags: flags that come from them.
        damaged: damaged copies under the uuid, of this publication too; the first ones where there are very many.
        resent: chunk ids of all sound copies under the uuid, by their bytes; empty where nothing is damaged.
    """

    flags: set[Flag]
    damaged: Sequence[Damaged] = ()
    resent: Resent = field(default_factory=dict)


def fold_publication(
    rows: list[ChunkRow], family: FamilyFacts, edge: LogEdge
) -> tuple[Publication, tuple[ChunkRole, ...]]:
    """Verdict on the rows of one uuid and publish time, in position order."""
    parts = taken.take_apart(rows)
    newest = replace(rows[-1], producer_name=parts.believable[-1].producer_name)
    may_arrive = states.may_still_arrive(newest, edge)
    if may_arrive and parts.n < parts.claimed:
        parts = taken.take_apart(rows, believe_bytes=False)  # the rest of what is claimed may come
    measured = sizes.judge_sizes(_believable_slices(parts), parts.claimed, parts.total)
    repeated, again = taken.resend_flags(parts)
    flags = repeated | family.flags | _flags(parts, measured)
    state = _state(parts, may_arrive)
    join = _can_be_joined(parts)
    facts = sureness.Facts(
        state=state,
        rows=rows,
        relied_on=parts.picks or rows,
        newest=newest,
        present=parts.present,
        n=parts.n,
        metadata_conflict=parts.conflict,
        out_of_place=_out_of_place(parts) if state == "whole" else "none",
        copies_differ="copies_differ" in flags,
        copies_fall_short=taken.others_fall_short(parts),
        count_lies=parts.count_lies,
        sizes_contradict=bool({"sizes_lie", "size_fault"} & flags),
        total_contradicted=bool(parts.picks) and _joined_bytes(parts) != parts.total,
        uncompressed_size_lies=bool(parts.picks)
        and sizes.uncompressed_size_lies(*parts.fields[:2], _joined_bytes(parts)),
        may_arrive=may_arrive and not parts.picks,
        near_damage=() if parts.picks else tuple(_near_damage(parts, measured, newest, family, edge)),
        resent=family.resent,
    )
    judged = sureness.judge(facts, edge)
    publication = _publication(parts, measured, state, flags, join != "no", judged)
    return publication, roles_from(rows, taken.roles(parts, again))


def _believable_slices(parts: Parts) -> dict[int, int]:
    """Bytes by chunk id of one believable copy each."""
    standing = dict(enumerate(parts.picks)) or parts.firsts
    return {i: sizes.slice_bytes(row) for i, row in standing.items() if trusted(row)}


def _flags(parts: Parts, measured: sizes.Sizes) -> set[Flag]:
    damaged = any(not trusted(row) for row in parts.rows)
    differ = (taken.holds_other_bytes(row, parts) for row in parts.placed if trusted(row))
    # Of counts or totals that differ, at least one contradicts the bytes.
    lie = measured.sizes_lie or parts.count_lies or taken.counts_or_totals_differ(parts.believable)
    flags: dict[Flag, bool] = {
        "metadata_conflict": parts.conflict,
        "corrupt_copy": damaged,
        "copies_differ": any(differ),
        "size_fault": measured.size_fault,
        "sizes_lie": lie,
        "ledger_span": parts.rows[0].ledger_id != parts.rows[-1].ledger_id,
    }
    return {flag for flag, holds in flags.items() if holds}


def _state(parts: Parts, may_arrive: bool) -> State:
    if not all(states.makes_sense(row, parts.claimed) for row in parts.believable):
        return "malformed"
    if parts.picks:
        in_order = passes.ascending_pick(parts.placed, parts.n) is not None
        return "whole" if in_order else "out_of_order"
    return "in_flight" if may_arrive else states.incomplete_state(parts.present)


def _out_of_place(parts: Parts) -> OutOfPlace:
    """Which copies put a whole message in order, when those that are used do not."""
    if all(position(before) < position(after) for before, after in pairwise(parts.picks)):
        return "none"
    sound = (row for row in parts.placed if trusted(row))
    return "damaged" if passes.ascending_pick(sound, parts.n) is None else "other_bytes"


def _near_damage(
    parts: Parts, measured: sizes.Sizes, newest: ChunkRow, family: FamilyFacts, edge: LogEdge
) -> Iterator[str]:
    """What damaged entries near it leave uncertain about a publication that lacks chunks."""
    if not family.damaged and edge.damage == NO_DAMAGE:
        return
    times = [stored_at_ms(row) for row in parts.believable]
    lacking = damage.Lacking(
        chunk_uuid=newest.chunk_uuid,
        producer=(newest.producer_name, parts.fields[4]),
        own=frozenset(map(position, parts.rows)),
        first=position(parts.rows[0]),
        last=position(parts.rows[-1]),
        from_ms=min(times),
        until_ms=max(times),
        nothing_later=parts.n - 1 not in parts.firsts and not states.wrote_later(newest, edge),
        verified=all(row.checksum_state == "valid" for row in parts.believable),
        n=parts.n,
        present=parts.firsts.keys(),
        lengths=sizes.missing_lengths(parts.present, parts.n, parts.total, measured, parts.fields[2]),
        resent=family.resent,
    )
    yield from damage.doubts(lacking, edge.damage, family.damaged, edge.grace_ms)


def _can_be_joined(parts: Parts) -> Literal["yes", "on_trust", "no"]:
    """Whether joining the picks gives the message; on trust when its total says otherwise.

    Clients deliver a message whose total lies (Go always, others when it is too large), so its bytes are
    worth keeping: `uncompressed_size` vouches for them, or decompression will.
    """
    if not parts.picks or not all(map(trusted, parts.picks)):
        return "no"
    if parts.conflict and not parts.rows[0].chunk_uuid:
        return "no"  # nothing says that these are chunks of one message
    stored = _joined_bytes(parts)
    if stored == parts.total:
        return "yes"
    compression, uncompressed_size = parts.fields[:2]
    return "on_trust" if compression is not None or stored == uncompressed_size else "no"


def _stored_bytes(parts: Parts) -> int:
    return sum(max(sizes.slice_bytes(row), 0) for row in parts.picks or parts.firsts.values())


def _extent(parts: Parts) -> Sequence[ChunkRow]:
    """The copies between whose first and last it lies; what was stored again later does not make it slower."""
    return sorted(parts.picks, key=position) or parts.rows


def _joined_bytes(parts: Parts) -> int:
    return sum(map(sizes.slice_bytes, parts.picks))


def _publication(
    parts: Parts, measured: sizes.Sizes, state: State, flags: set[Flag], rebuildable: bool, judged: tuple[Sureness, str]
) -> Publication:
    rows, n = parts.rows, parts.n
    first, last = (parts.picks[0], parts.picks[-1]) if parts.picks else (rows[0], rows[-1])
    runs = sizes.missing_runs(parts.present, n)
    compression, uncompressed_size, encrypted = parts.fields[:3]
    extent = _extent(parts)
    return Publication(
        chunk_uuid=rows[0].chunk_uuid,
        publish_time_ms=rows[0].publish_time_ms,
        producer_name=parts.believable[0].producer_name,
        sequence_id=parts.believable[0].sequence_id,
        state=state,
        flags=tuple(sorted(flags)),
        rebuildable=rebuildable,
        sureness=judged[0],
        reason=judged[1],
        first_ledger_id=first.ledger_id,
        first_entry_id=first.entry_id,
        last_ledger_id=last.ledger_id,
        last_entry_id=last.entry_id,
        num_chunks=n,
        copies=len(rows),
        present_chunks=len(parts.present),
        missing_chunk_ids=sizes.missing_ids(runs),
        missing_chunk_count=max(n - len(parts.present), 0),
        missing_bytes=sizes.missing_ranges(runs, n, parts.total, measured),
        total_bytes=parts.total,
        stored_bytes=_stored_bytes(parts),
        uncompressed_bytes=uncompressed_size,
        compression=compression,
        encrypted=encrypted,
        span_entries=span_entries(extent),
        span_ms=span_ms(extent),
        ledgers=ledgers_of(rows),
        manifest=manifest_of(parts.picks) if rebuildable else (),
        decode_state=initial_decode_state(compression, encrypted, rebuildable),
    )


def initial_decode_state(compression: str | None, encrypted: bool, rebuildable: bool) -> DecodeState:
    """What can be said about decoding before anyone has tried."""
    if not rebuildable:
        return "not_checked"
    if encrypted:
        return "encrypted"
    return "not_needed" if compression is None else "not_checked"
