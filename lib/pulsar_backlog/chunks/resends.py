"""An unfinished send whose message is stored whole under another publish time: nothing of it is lost.

An application that sends a message again under its sequence id gives it another publish time. With deduplication on,
the broker stores all its chunks but the last, the only one whose sequence id it looks at (MessageDeduplication,
apache/pulsar#20948). Without it, a producer that was restarted reuses uuids for other content: equal payload checksums
tell the two apart, and they say nothing of the chunks that are not there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pulsar_backlog.chunks.rows import ChunkRole, ChunkRow, FamilyFold, LogEdge, Publication, codec, position, trusted
from pulsar_backlog.terms import Position, Sureness, least_sure, position_text

_UNCLEAR = frozenset({"metadata_conflict", "copies_differ", "sizes_lie"})


@dataclass(frozen=True, slots=True)
class _Resend:
    """What an unfinished publication is beside a whole one.

    Attributes:
        whole: the whole one.
        is_told: whether every stored chunk holds the same bytes; else that cannot be found out.
        is_dropped: whether only the end is missing that deduplication drops.
    """

    whole: Publication
    is_told: bool
    is_dropped: bool


def tell_resends(family: FamilyFold, by_time: Mapping[int, Sequence[ChunkRow]], edge: LogEdge) -> FamilyFold:
    """The family with what is left of resends told as that.

    Args:
        family: the verdict on each publication by itself.
        by_time: its rows by publish time, in position order.
        edge: what is known about the log.
    """
    whole = [one for one in family.publications if _is_clear_and_whole(one)]
    if not whole:
        return family
    resends = {
        one.publish_time_ms: resend
        for one in family.publications
        if one.state == "orphan_prefix" and (resend := _resend_of(one, whole, by_time, edge))
    }
    if not resends:
        return family
    # What deduplication left is no other message.
    messages = {time for time in by_time if not (time in resends and resends[time].is_dropped)}
    publications = tuple(_flag(one, resends.get(one.publish_time_ms), len(messages) > 1) for one in family.publications)
    residues = {time for time, resend in resends.items() if resend.is_told and _is_after(by_time[time], resend.whole)}
    return FamilyFold(publications, tuple(_role(role, residues) for role in family.roles))


def told_by_child(one: Publication, why: str | None) -> Publication:
    """The publication, where another segment of its scalable topic holds its message whole; None where none does.

    On a sealed segment a producer of 5.0 sends the whole message again to a child, under another uuid.
    """
    if why is None or one.state != "orphan_prefix" or _UNCLEAR & set(one.flags):
        return one
    return replace(one, flags=tuple(sorted({*one.flags, "resend_residue"})), reason=f"{why}; {one.reason}")


def _is_clear_and_whole(one: Publication) -> bool:
    return one.state == "whole" and one.rebuildable and not _UNCLEAR & set(one.flags)


def _resend_of(
    one: Publication, whole: Iterable[Publication], by_time: Mapping[int, Sequence[ChunkRow]], edge: LogEdge
) -> _Resend | None:
    """The whole publication that it is a resend of, the surest; None when there is none."""
    rows = by_time[one.publish_time_ms]
    if _UNCLEAR & set(one.flags) or not all(map(trusted, rows)):
        return None
    resends = []
    for other in whole:
        picks = _picks(other, by_time[other.publish_time_ms])
        compared = [_holds_same(row, picks) for row in rows]
        if False in compared:
            continue
        is_told = None not in compared
        lacks_only_end = one.present_chunks == one.num_chunks - 1
        is_dropped = is_told and edge.deduplicated and lacks_only_end and _is_after(rows, other)
        resends.append(_Resend(other, is_told, is_dropped))
    return max(resends, key=lambda resend: (resend.is_dropped, resend.is_told), default=None)


def _picks(whole: Publication, rows: Iterable[ChunkRow]) -> Mapping[int, ChunkRow]:
    """The copies that the whole message is made of, by chunk id."""
    by_place = {position(row): row for row in rows}
    return {chunk_id: by_place[ledger_id, entry_id] for chunk_id, ledger_id, entry_id, *_ in whole.manifest}


def _holds_same(row: ChunkRow, picks: Mapping[int, ChunkRow]) -> bool | None:
    """Whether the row is a copy of its chunk in the whole message; None when their bytes cannot be compared.

    Every encryption of the same bytes gives others.
    """
    other = picks.get(-1 if row.chunk_id is None else row.chunk_id)
    if other is None or _content(row) != _content(other) or row.payload_length != other.payload_length:
        return False
    if row.payload_crc32c is None or other.payload_crc32c is None:
        return None
    return row.payload_crc32c == other.payload_crc32c or (None if row.encrypted else False)


def _content(row: ChunkRow) -> tuple[object, ...]:
    return (
        row.producer_name,
        row.sequence_id,
        row.num_chunks,
        row.total_bytes,
        codec(row),
        row.uncompressed_size,
        row.encrypted,
        row.metadata_digest,
    )


def _is_after(rows: Sequence[ChunkRow], whole: Publication) -> bool:
    """Whether the rows were stored when the message was already whole."""
    return position(rows[0]) > _last_pick(whole)


def _last_pick(whole: Publication) -> Position:
    return max((ledger_id, entry_id) for _, ledger_id, entry_id, *_ in whole.manifest)


def _flag(one: Publication, resend: _Resend | None, is_reused: bool) -> Publication:
    flags = set(one.flags)
    if not is_reused:
        flags.discard("uuid_reused")
    if resend is None:
        return replace(one, flags=tuple(sorted(flags)))
    if resend.is_told:
        flags.add("resend_residue")
    doubts: tuple[Sureness, ...] = (one.sureness, resend.whole.sureness, "certain" if resend.is_dropped else "likely")
    return replace(
        one,
        flags=tuple(sorted(flags)),
        sureness=least_sure(doubts),
        reason=f"{_reason(resend)}; {one.reason}",
    )


def _reason(resend: _Resend) -> str:
    whole = resend.whole
    first, last = (whole.first_ledger_id, whole.first_entry_id), (whole.last_ledger_id, whole.last_entry_id)
    place = f"stored whole at {position_text(first)} to {position_text(last)}"
    if not resend.is_told:
        why = "encrypted bytes cannot" if whole.encrypted else "without checksums of both their bytes cannot"
        return f"it may be the message of the same sequence id and sizes that is {place}: {why} be compared"
    same = f"by checksum its chunks hold the bytes of those of the message {place} under the same sequence id"
    if resend.is_dropped:
        return f"{same}, and deduplication is on, which drops the last chunk of what is resent"
    return f"{same}, but nobody knows what the missing ones held"


def _role(role: ChunkRole, residues: set[int]) -> ChunkRole:
    return replace(role, role="residue") if role.publish_time_ms in residues and role.role == "orphan" else role
