"""An index object made again from the data object alone, for a ledger of the object-store offloader that lost its own.

The blocks come from the chain of their headers, the counts from a walk over every entry; a chain or walk with any fault
makes no index, for it would hide the fault. What neither holds (when the ledger was made, its bookies and quorums) no
broker needs for reading; it is left out, or written as the commonest value where the format asks for one.

The layout is that of `ledgers.jcloud`, from the same source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pulsar_backlog.cluster.values import LedgerRecord
from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.chain import read_chain
from pulsar_backlog.ledgers.copies import Pair
from pulsar_backlog.ledgers.jcloud import MAX_INDEX_BYTES, decode_index, encode_index
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.stored_objects import StoredObject
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.ledgers.values import Block, PlannedCopy
from pulsar_backlog.ledgers.walk import walk_unit
from pulsar_backlog.wire.ledger_metadata import MANAGED_LEDGER_KEY, LedgerMetadata, encode_ledger_metadata

_OF_EVERY_LEDGER = (("component", b"managed-ledger"), ("application", b"pulsar"))
"""Custom metadata that brokers give all their ledgers."""

_HTTP = frozenset(("content-type", "content-encoding", "content-language", "content-disposition", "cache-control"))
"""What stores keep beside user metadata."""


@dataclass(frozen=True)
class RebuiltIndex:
    """An index, and what it rests on.

    Attributes:
        body: bytes of the index object.
        places: blocks it names, or pairs of a MapFile's.
        entries: entries of the ledger, as the data hold them.
        entry_bytes: sum of their bytes.
        unknown: what nothing told, one clause each.
    """

    body: bytes
    places: int
    entries: int
    entry_bytes: int
    unknown: tuple[str, ...]


def rebuild_index(source: Source, pair: Pair, managed_ledger: str | None, broker: LedgerRecord | None) -> RebuiltIndex:
    """The index of a copy, from its data object; then the whole ledger read through it.

    Args:
        source: where the copy lies; it is only read.
        pair: the copy; what index it has is not looked at.
        managed_ledger: name of the managed ledger, or None when nothing tells.
        broker: what saved admin JSON says of the ledger, or None.

    Raises:
        SourceError: the data object is missing, cannot be read, is damaged, or is not what the broker recorded.
    """
    data = pair.data
    if data is None:
        raise SourceError(pair.index.path if pair.index else "", "not_found", "there is no data object to index")
    blocks = _blocks(source, data)
    entries, entry_bytes = _read_whole(source, pair, data, blocks)
    _hold_against(source, data, broker, entries, entry_bytes)
    body = encode_index(encode_ledger_metadata(_metadata(entries, entry_bytes, managed_ledger)), data.size, blocks)
    if len(body) > MAX_INDEX_BYTES:
        raise refused(source, data, f"an index of {len(blocks):,} blocks would be larger than any that is read")
    _check(source, pair, data, body, (entries, entry_bytes))
    unknown = tuple(_unknown(managed_ledger, broker))
    return RebuiltIndex(body, len(blocks), entries, entry_bytes, unknown)


def object_metadata(of_data: Mapping[str, str], managed_ledger: str | None) -> dict[str, str]:
    """User metadata that the index object must carry in a bucket: a broker refuses one without the format version."""
    named = {"managedledgername": managed_ledger} if managed_ledger is not None else {}
    own = {name: value for name, value in of_data.items() if name not in _HTTP}
    return {"s3managedledgeroffloaderformatversion": "1"} | named | own | {"role": "index"}


def _blocks(source: Source, data: StoredObject) -> tuple[Block, ...]:
    chain = read_chain(source, data)
    if chain.faults:
        fault = chain.faults[0]
        raise refused(
            source, data,
            f"{fault.code} at byte {fault.offset}: expected {fault.expected}, found {fault.found}",
        )  # fmt: skip
    if not chain.is_whole:
        raise refused(source, data, "it is empty")
    blocks = []
    for number, block in enumerate(chain.blocks):
        following = chain.blocks[number + 1] if number + 1 < len(chain.blocks) else None
        count = following.first_entry_id - block.first_entry_id if following else None
        blocks.append(replace(block, entry_count=count, is_last=following is None))
    return tuple(blocks)


def _read_whole(source: Source, pair: Pair, data: StoredObject, blocks: tuple[Block, ...]) -> tuple[int, int]:
    """Number of entries and sum of their bytes, every one of them read.

    Raises:
        SourceError: a fault anywhere, or an entry id that is not the one before and 1.
    """
    plan = PlannedCopy(
        None, pair.ledger_id, pair.copy, "jcloud", data.path, None, data.size, data.etag, None, None, blocks
    )
    entries = entry_bytes = 0
    for unit in units_of(plan):
        for batch in walk_unit(source, unit):
            if batch.faults:
                fault = batch.faults[0]
                words = f"{fault.code} at byte {fault.offset}: expected {fault.expected}, found {fault.found}"
                raise refused(source, data, words)
            if len(batch.entry_id):
                if (int(batch.entry_id[0]), int(batch.entry_id[-1])) != (entries, entries + len(batch.entry_id) - 1):
                    raise refused(source, data, f"entry {entries} is not where it should be")
                entries += len(batch.entry_id)
                entry_bytes += int(batch.length.sum())
    if not entries:
        raise refused(source, data, "it holds no entry")
    return entries, entry_bytes


def _hold_against(
    source: Source, data: StoredObject, broker: LedgerRecord | None, entries: int, entry_bytes: int
) -> None:
    pairs = (("entries", broker.entries, entries), ("bytes", broker.size_bytes, entry_bytes)) if broker else ()
    for what, theirs, ours in pairs:
        if theirs is not None and theirs != ours:
            raise refused(source, data, f"the broker records {theirs:,} {what} of this ledger, it holds {ours:,}")


def _metadata(entries: int, entry_bytes: int, managed_ledger: str | None) -> LedgerMetadata:
    named = ((MANAGED_LEDGER_KEY, managed_ledger.encode()),) if managed_ledger is not None else ()
    return LedgerMetadata(
        write_quorum=1,
        ensemble_size=1,
        ack_quorum=1,
        length_bytes=entry_bytes,
        last_entry_id=entries - 1,
        state="CLOSED",
        digest_type="CRC32C",
        created_ms=None,
        custom=(*named, *_OF_EVERY_LEDGER),
    )


def _check(source: Source, pair: Pair, data: StoredObject, body: bytes, read: tuple[int, int]) -> None:
    """Read the whole ledger as the index's bytes say, and hold what is found against them and the first reading."""
    index, faults = decode_index(body)
    if index is None or faults or index.metadata is None:
        raise RuntimeError(f"the index that was made does not decode: {faults}")
    ends = [*(entry.offset for entry in index.entries[1:]), index.data_length]
    firsts = [*(entry.first_entry_id for entry in index.entries[1:]), (index.metadata.last_entry_id or 0) + 1]
    named = zip(index.entries, ends, firsts, strict=True)
    blocks = tuple(
        Block(
            entry.offset, end - entry.offset, entry.first_entry_id, following - entry.first_entry_id, end == data.size
        )
        for entry, end, following in named
    )
    if _read_whole(source, pair, data, blocks) != read or index.metadata.length_bytes != read[1]:
        raise refused(source, data, "it changed while its index was made")


def _unknown(managed_ledger: str | None, broker: LedgerRecord | None) -> list[str]:
    words = []
    if managed_ledger is None:
        words.append("which topic the ledger belongs to: the index names no managed ledger (--admin may tell)")
    if broker is None or broker.entries is None:
        words.append(
            "how many entries the ledger had: whole blocks that are lost at the end of the data object cannot be "
            "noticed (--admin tells)"
        )
    words.append("when the ledger was created: left out")
    words.append(
        "its bookies, quorums and digest: no bookie is named, the quorums are written as 1, the digest as CRC32C; "
        "brokers do not use them for reading"
    )
    return words


def refused(source: Source, data: StoredObject, words: str) -> SourceError:
    """Why no index can be made of an object."""
    return SourceError(source.uri(data.path), "failed", f"no index can be made of it: {words}")
