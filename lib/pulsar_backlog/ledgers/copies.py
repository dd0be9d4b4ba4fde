"""One copy in an object store examined: its index, its chain of block headers, and whether they agree with its size.

The index is what a broker believes; the headers are what the data says. Where the chain of headers runs without a
fault from the first byte to the last, the blocks come from it, and an index that says otherwise is wrong; else the
blocks come from the index if its order makes sense.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from pulsar_backlog.errors import CONTEXT_BYTES, SourceError
from pulsar_backlog.ledgers.chain import Chain, read_chain
from pulsar_backlog.ledgers.faults import Fault
from pulsar_backlog.ledgers.jcloud import (
    BLOCK_HEADER_BYTES,
    ENTRY_HEADER_BYTES,
    MAX_INDEX_BYTES,
    JcloudIndex,
    decode_index,
)
from pulsar_backlog.ledgers.storage_kinds import Kind
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.stored_objects import StoredObject
from pulsar_backlog.ledgers.values import Block
from pulsar_backlog.wire.ledger_metadata import LedgerMetadata
from pulsar_backlog.wire.names import topic_of_managed_ledger

FORMAT_VERSION = "1"
FORMAT_VERSION_KEY = "s3managedledgeroffloaderformatversion"
MANAGED_LEDGER_KEY = "managedledgername"
CLUSTER_KEY = "pulsarclustername"

_MAX_ENTRY_ID = 2**63 - 2


@dataclass(frozen=True)
class Pair:
    """The objects of one offload attempt, as listed; `checksums` are those of the data."""

    ledger_id: int
    copy: str
    data: StoredObject | None
    index: StoredObject | None
    kind: Kind = "jcloud"
    checksums: StoredObject | None = None


@dataclass(frozen=True)
class Problem:
    """Something wrong with a copy: the finding's code and its sentence."""

    code: str
    message: str
    path: str
    incomplete: bool = False


@dataclass(frozen=True)
class Examined:
    """A copy as it was found.

    Attributes:
        pair: its objects.
        index: of the object-store offloader, or None.
        has_index: whether it has an index that can be read.
        metadata: of the ledger, or None when nothing of the copy holds it.
        user_metadata: of its objects, with lower-case keys.
        named_by_path: managed ledger that its folder names, or None.
        blocks: data blocks, or parts, in order.
        problems: what is wrong with it.
        faults: what is wrong in its index, and in the data where no block is.
    """

    pair: Pair
    index: JcloudIndex | None = None
    has_index: bool = False
    metadata: LedgerMetadata | None = None
    user_metadata: Mapping[str, str] = field(default_factory=dict)
    named_by_path: str | None = None
    blocks: tuple[Block, ...] = ()
    problems: tuple[Problem, ...] = ()
    faults: tuple[Fault, ...] = ()

    @property
    def expected_entries(self) -> int | None:
        """Entries the ledger metadata promises, or None when it does not say, or says what cannot be."""
        last = self.metadata.last_entry_id if self.metadata else None
        return None if last is None or not -1 <= last <= _MAX_ENTRY_ID else last + 1

    @property
    def expected_bytes(self) -> int | None:
        """Sum of entry bytes the ledger metadata promises."""
        return self.metadata.length_bytes if self.metadata else None

    @cached_property
    def managed_ledger(self) -> str | None:
        """Managed-ledger name: from the ledger metadata, else from the objects' user metadata or the folder."""
        inside = self.metadata.managed_ledger if self.metadata else None
        return inside or self.user_metadata.get(MANAGED_LEDGER_KEY) or self.named_by_path

    @cached_property
    def topic(self) -> str | None:
        """Full topic name, or None where the objects name none, or another kind of managed ledger."""
        try:
            return topic_of_managed_ledger(self.managed_ledger) if self.managed_ledger is not None else None
        except ValueError:
            return None


def examine(source: Source, pair: Pair) -> Examined:
    """Read a copy's index, and block headers where they are needed to know the blocks."""
    attempt = _with_index(source, Examined(pair))
    if pair.data is None:
        path = pair.index.path if pair.index else ""
        return _with(attempt, Problem("S04", "The index object has no data object beside it.", path))
    attempt = _with_data_metadata(source, attempt, pair.data)
    try:
        attempt = _with_blocks(source, attempt, pair.data)
    except SourceError as error:
        return _with(attempt, Problem("S02", str(error), pair.data.path, incomplete=True))
    return with_version(attempt)


def _with_index(source: Source, attempt: Examined) -> Examined:
    listed = attempt.pair.index
    if listed is None:
        return attempt
    try:
        fetched = source.fetch(listed.path, MAX_INDEX_BYTES)
    except SourceError as error:
        return _with(attempt, Problem("S02", str(error), listed.path, incomplete=True))
    index, faults = decode_index(fetched.data)
    metadata = index.metadata if index else None
    attempt = replace(
        attempt,
        index=index,
        has_index=index is not None,
        metadata=metadata,
        faults=faults,
        user_metadata=fetched.user_metadata,
    )
    if index is None:
        return _with(attempt, Problem("S08", f"The index cannot be decoded: {faults[0].code}.", listed.path))
    if faults:
        codes = ", ".join(sorted({fault.code for fault in faults}))
        return _with(attempt, Problem("S09", f"The index contradicts itself: {codes}.", listed.path))
    return attempt


def _with_data_metadata(source: Source, attempt: Examined, data: StoredObject) -> Examined:
    """The data object's user metadata, where the index gave none and it is needed for the topic."""
    if attempt.pair.index is None:
        message = "The data object has no index object beside it."
        attempt = _with(attempt, Problem("S05", message, data.path))
    if attempt.managed_ledger is not None or attempt.user_metadata:
        return attempt
    try:
        return replace(attempt, user_metadata=source.user_metadata(data.path))
    except SourceError as error:
        return _with(attempt, Problem("S02", str(error), data.path, incomplete=True))


def with_version(attempt: Examined) -> Examined:
    """With a problem where its objects say that they are of another version of the format."""
    version = attempt.user_metadata.get(FORMAT_VERSION_KEY, FORMAT_VERSION)
    if version == FORMAT_VERSION:
        return attempt
    listed = attempt.pair.index or attempt.pair.data
    message = f"Format version {version[:32]!r}, known is {FORMAT_VERSION}."
    return _with(attempt, Problem("S22", message, listed.path if listed else ""))


def _with_blocks(source: Source, attempt: Examined, data: StoredObject) -> Examined:
    named = _blocks_of_index(attempt.index, data.size) if attempt.index else ()
    promised = attempt.index.data_length if attempt.index else None
    if len(named) == 1 and promised == data.size and not attempt.faults:
        return _with_counts(replace(attempt, blocks=named))  # the walk checks the only header
    chain = read_chain(source, data)
    if not named:
        attempt = _with_chain_alone(attempt, chain, data)
        return _with_counts(_with_size_check(source, attempt, chain, data))
    trusted = chain.is_whole and not _is_shortened(attempt, data)
    attempt = replace(attempt, blocks=chain.blocks if trusted else named)
    if trusted and _places(chain.blocks) != _places(named):
        path = attempt.pair.index.path if attempt.pair.index else data.path
        attempt = _with(attempt, Problem("S09", "The index names other blocks than the data's headers.", path))
    return _with_counts(_with_size_check(source, attempt, chain, data))


def _with_chain_alone(attempt: Examined, chain: Chain, data: StoredObject) -> Examined:
    after = (fault for fault in chain.faults if fault.code == "bytes_after_last_block")  # the walk tells of the others
    attempt = replace(attempt, blocks=chain.blocks, faults=(*attempt.faults, *after))
    if chain.is_whole:
        return attempt
    message = "The block headers do not form a chain to the end of the data object."
    return _with(attempt, Problem("S12", message, data.path))


def _with_size_check(source: Source, attempt: Examined, chain: Chain, data: StoredObject) -> Examined:
    """Compare the data object's listed size with the length that the index promises."""
    index = attempt.index
    if index is None or index.data_length == data.size or index.data_length <= BLOCK_HEADER_BYTES:
        return attempt
    message = f"The data object has {data.size} bytes, the index promises {index.data_length}."
    if data.size > index.data_length:
        attempt = _with(attempt, Problem("S11", message, data.path))
        if any(fault.code == "bytes_after_last_block" for fault in attempt.faults):
            return attempt
        return replace(attempt, faults=(*attempt.faults, _surplus(source, index, data)))
    if chain.is_whole and not _is_shortened(attempt, data):
        return _with(attempt, Problem("S09", message, data.path))  # the data is whole by its own headers
    return _with(attempt, Problem("S10", message, data.path))


def _is_shortened(attempt: Examined, data: StoredObject) -> bool:
    """Whether the index names a block that would begin beyond the data's end: then whole blocks were cut off."""
    return attempt.index is not None and any(entry.offset >= data.size for entry in attempt.index.entries)


def _surplus(source: Source, index: JcloudIndex, data: StoredObject) -> Fault:
    at, surplus = index.data_length, data.size - index.data_length
    first_bytes = source.read(data.path, at, min(data.size, at + CONTEXT_BYTES)).tobytes()
    return Fault("bytes_after_last_block", at, at, surplus, "data", f"{at} bytes", f"{surplus} more", first_bytes)


def _with_counts(attempt: Examined) -> Examined:
    """Give each block the entries it must hold, and hold the sums against the ledger metadata."""
    blocks, total = attempt.blocks, attempt.expected_entries
    counted = []
    for number, block in enumerate(blocks):
        is_last = number == len(blocks) - 1
        following = total if is_last else blocks[number + 1].first_entry_id
        count = None if following is None else following - block.first_entry_id
        counted.append(replace(block, entry_count=count if count and count > 0 else None, is_last=is_last))
    attempt = replace(attempt, blocks=tuple(counted))
    return _with(attempt, *_sums(attempt))


def _sums(attempt: Examined) -> Iterator[Problem]:
    """What index and ledger metadata say of each other: the data holds a header for each block and entry, and the rest.

    The last block has no padding; blocks before it may have some.
    """
    index, entries, size = attempt.index, attempt.expected_entries, attempt.expected_bytes
    if index is None or attempt.metadata is None:
        return
    path = attempt.pair.index.path if attempt.pair.index else ""
    if entries is None or size is None or size < 0 or entries == 0:
        promise = f"last entry {attempt.metadata.last_entry_id}, {size} bytes"
        yield Problem("S09", f"The ledger metadata of an offloaded ledger says {promise}.", path)
        return
    needed = BLOCK_HEADER_BYTES * len(index.entries) + ENTRY_HEADER_BYTES * entries + size
    if needed > index.data_length > BLOCK_HEADER_BYTES:
        message = f"{entries} entries of {size} bytes need {needed} bytes, the data object has {index.data_length}."
        yield Problem("S13", message, path)
    elif len(index.entries) == 1 and needed < index.data_length:
        message = f"{entries} entries of {size} bytes need {needed} bytes, the data object has {index.data_length}."
        yield Problem("S14", message, path)
    if index.entries[-1].first_entry_id >= entries:
        message = f"A block begins at entry {index.entries[-1].first_entry_id}, the ledger has {entries} entries."
        yield Problem("S09", message, path)


def _blocks_of_index(index: JcloudIndex, size: int) -> tuple[Block, ...]:
    """Blocks as the index names them, or none when its order makes no sense."""
    entries = index.entries
    if (entries[0].first_entry_id, entries[0].offset) != (0, 0):
        return ()
    blocks = []
    for number, entry in enumerate(entries):
        is_last = number == len(entries) - 1
        end = max(index.data_length, size) if is_last else entries[number + 1].offset
        if is_last and entry.offset + BLOCK_HEADER_BYTES < index.data_length:
            end = index.data_length
        if not is_last and entries[number + 1].first_entry_id <= entry.first_entry_id:
            return ()
        if end < entry.offset + BLOCK_HEADER_BYTES:
            return ()
        blocks.append(Block(entry.offset, end - entry.offset, entry.first_entry_id, None))
    return tuple(blocks)


def _places(blocks: tuple[Block, ...]) -> list[tuple[int, int, int]]:
    return [(block.offset, block.length, block.first_entry_id) for block in blocks]


def _with(attempt: Examined, *problems: Problem) -> Examined:
    return replace(attempt, problems=(*attempt.problems, *problems))
