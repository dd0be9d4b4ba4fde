"""Damaged entries near an incomplete message: which of them may be its missing chunk, and what may be salvaged.

A damaged entry says nothing certain. One flipped byte may hit its uuid, producer, sequence id, publish time, chunk id,
count or total, or the marks by which it is known as a chunk. So whatever it says, it may be the missing chunk of every
message near it: by the ledgers between which it lies, by time, or because it names the message's uuid or producer and
sequence id. Of what is near it nothing is lost for certain.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pulsar_backlog.chunks.rows import ChunkRow, Damage, Damaged, trusted
from pulsar_backlog.terms import Position

MAX_NAMED = 3
"""Damaged entries that the reason of one message names."""

_NOUN = {
    "mismatch": "the damaged entry",
    "absent": "the entry without a checksum",
    "reject": "the undecodable entry",
}


Resent = Mapping[tuple[int, int], Collection[int]]


@dataclass(frozen=True, slots=True)
class Lacking:
    """A message that lacks chunks, as far as it can be believed.

    Attributes:
        producer: names of its producer and its sequence id.
        own: where its copies are stored.
        first: position of its first copy.
        last: position of its last copy.
        from_ms: when the first of its copies was stored.
        until_ms: when the last one was.
        nothing_later: whether its end is missing, and its producer wrote nothing after it.
        verified: whether checksums vouch for all its copies.
        n: chunks that it was cut into.
        present: chunk ids that are stored.
        lengths: stored payload bytes of missing chunks, where they are known, with the chunk.
        resent: chunk ids by payload bytes and CRC-32C, of sound copies of all publications under the uuid.
    """

    chunk_uuid: str
    producer: tuple[str, int]
    own: frozenset[Position]
    first: Position
    last: Position
    from_ms: int
    until_ms: int
    nothing_later: bool
    verified: bool
    n: int
    present: Collection[int]
    lengths: Mapping[int, int]
    resent: Resent

    @property
    def only_missing(self) -> int | None:
        """The missing chunk, when it is the only one."""
        if len(self.present) != self.n - 1:
            return None
        return next(chunk_id for chunk_id in range(self.n) if chunk_id not in self.present)


def damaged_row(row: ChunkRow) -> Damaged:
    """A damaged copy as a damaged entry."""
    return Damaged(
        row.ledger_id,
        row.entry_id,
        "mismatch",
        chunk_uuid=row.chunk_uuid,
        producer_name=row.producer_name,
        sequence_id=row.sequence_id,
        payload_length=row.payload_length,
        payload_crc32c=row.payload_crc32c,
    )


def resent_chunks(rows: Iterable[ChunkRow]) -> Resent:
    """Chunk ids of sound copies by payload bytes and CRC-32C."""
    chunks: dict[tuple[int, int], set[int]] = {}
    for row in rows:
        if trusted(row) and row.payload_crc32c is not None and row.chunk_id is not None and row.chunk_id >= 0:
            chunks.setdefault((row.payload_length, row.payload_crc32c), set()).add(row.chunk_id)
    return chunks


def about_copies(copies: Sequence[ChunkRow], resent: Resent) -> str:
    """What is said of damaged copies that a verdict rests on."""
    named = ", ".join(f"{row.ledger_id}:{row.entry_id}" for row in copies[:MAX_NAMED])
    more = f" and {len(copies) - MAX_NAMED:,} more" if len(copies) > MAX_NAMED else ""
    salvage = "may be salvaged"
    if all(row.chunk_id in resent.get((row.payload_length, row.payload_crc32c or -1), ()) for row in copies):
        salvage = "can be salvaged: it is that of the chunk as it was sent again (CRC-32C)"
    return f"a copy is damaged ({named}{more}), so its fields cannot be trusted, but its payload {salvage}"


def doubts(lacking: Lacking, damage: Damage, family: Iterable[Damaged], grace_ms: int) -> Iterator[str]:
    """What damage makes it uncertain that the message is lost; nothing when there is none near.

    Args:
        lacking: the message.
        damage: the topic's damaged entries.
        family: damaged copies under the message's uuid.
        grace_ms: how long a message may take to arrive.
    """
    low, high = _reach(damage.ledgers, lacking)
    entries = {(one.ledger_id, one.entry_id): one for one in (*family, *damage.places)}
    near = [
        one
        for place, one in entries.items()
        if place not in lacking.own
        and (low <= one.ledger_id <= high or _may_be(one, lacking, grace_ms))
        and (one.kind != "absent" or lacking.verified)
    ]
    near.sort(key=lambda one: _rank(one, lacking))
    for one in near[:MAX_NAMED]:
        yield _words(one, lacking)
    more = len(near) - MAX_NAMED
    if more > 0:
        yield f"so may {more:,} other damaged {'entry' if more == 1 else 'entries'} near it"
    if damage.unlisted:
        yield f"{damage.unlisted:,} more entries of the topic are damaged, and one may be a missing chunk"
    if lacking.verified and any(low <= ledger_id <= high for ledger_id in damage.unverified):
        yield "entries near it have no checksum, and one may be a damaged chunk of it"


def _reach(ledgers: tuple[int, ...], lacking: Lacking) -> tuple[int, int]:
    """Ledgers from the one before the message to the one after it."""
    before = bisect_left(ledgers, lacking.first[0])
    after = bisect_right(ledgers, lacking.last[0])
    low = ledgers[before - 1] if before else lacking.first[0]
    high = ledgers[after] if after < len(ledgers) else lacking.last[0]
    return low, high


def _may_be(one: Damaged, lacking: Lacking, grace_ms: int) -> bool:
    """Whether the entry may be a chunk of the message though it lies in none of its ledgers nor next to them."""
    if one.garbled or one.kind == "reject" or _names(one, lacking):
        return True
    if lacking.nothing_later and (one.ledger_id, one.entry_id) > lacking.last:
        return True
    times = [ms for ms in (one.after_ms, one.before_ms) if ms is not None]
    earliest = min(times) if one.after_ms is not None else None
    latest = max(times) if one.before_ms is not None else None
    too_late = earliest is not None and earliest > lacking.until_ms + grace_ms
    too_early = latest is not None and latest < lacking.from_ms - grace_ms
    return not too_late and not too_early


def _names(one: Damaged, lacking: Lacking) -> bool:
    same_uuid = one.chunk_uuid is not None and one.chunk_uuid == lacking.chunk_uuid
    return same_uuid or (one.producer_name, one.sequence_id) == lacking.producer


def _rank(one: Damaged, lacking: Lacking) -> tuple[bool, bool, bool, bool, Position]:
    """What is most likely the missing chunk comes first."""
    place = one.ledger_id, one.entry_id
    between = lacking.first < place < lacking.last
    return _resent(one, lacking) is None, not _names(one, lacking), _fits(one, lacking) is None, not between, place


def _resent(one: Damaged, lacking: Lacking) -> int | None:
    """The missing chunk whose resent bytes are in the entry."""
    if one.payload_length is None or one.payload_crc32c is None:
        return None
    ids = lacking.resent.get((one.payload_length, one.payload_crc32c), ())
    return min((chunk_id for chunk_id in ids if chunk_id < lacking.n and chunk_id not in lacking.present), default=None)


def _fits(one: Damaged, lacking: Lacking) -> int | None:
    """The missing chunk that has the size of the entry's payload."""
    return None if one.payload_length is None else lacking.lengths.get(one.payload_length)


def _words(one: Damaged, lacking: Lacking) -> str:
    same = ", under the same uuid," if one.chunk_uuid and one.chunk_uuid == lacking.chunk_uuid else ""
    resent, fits = _resent(one, lacking), _fits(one, lacking)
    chunk = next((chunk_id for chunk_id in (resent, fits, lacking.only_missing) if chunk_id is not None), None)
    which = "" if chunk is None else f" {chunk}"
    payload = ""
    if resent is not None:
        payload = ": its payload is that of the resent chunk (CRC-32C), and can be salvaged"
    elif fits is not None:
        payload = f": it has the chunk's size ({one.payload_length:,} bytes), and its payload may be salvaged"
    elif one.kind == "reject" or not lacking.lengths:
        payload = ": its payload may be salvaged"
    return f"{_NOUN[one.kind]} {one.ledger_id}:{one.entry_id}{same} may be its missing chunk{which}{payload}"
