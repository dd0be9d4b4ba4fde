"""Objects of streaming offload, each examined by itself: its index, its blocks, and whether they agree."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from pulsar_backlog.errors import DecodeError, SourceError
from pulsar_backlog.findings import Finding
from pulsar_backlog.ledgers.copies import Problem
from pulsar_backlog.ledgers.faults import Fault, fault_of
from pulsar_backlog.ledgers.jcloud import MAX_INDEX_BYTES, STREAMING_MAGIC
from pulsar_backlog.ledgers.listing import printable
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.stored_objects import StoredObject
from pulsar_backlog.ledgers.streaming.chain import StreamChain, read_stream
from pulsar_backlog.ledgers.streaming.index import (
    INDEX_MAGIC,
    IndexedLedger,
    StreamingIndex,
    decode_streaming_index,
)
from pulsar_backlog.ledgers.values import Block

THREADS = 16

_MAGICS = STREAMING_MAGIC.to_bytes(4, "big"), INDEX_MAGIC.to_bytes(4, "big")


@dataclass
class StreamFound:
    """What one data object and its index hold.

    Attributes:
        data: the data object, or None.
        index_object: its index, or None.
        index: as decoded, or None.
        chain: blocks of the data.
        user_metadata: of the index, or of the data where there is none.
        problems: what is wrong with them.
        faults: what is wrong in the index, and where no block is.
        foreign: objects with such a name that are something else.
        unreadable: what could not be looked into.
    """

    data: StoredObject | None
    index_object: StoredObject | None
    index: StreamingIndex | None = None
    chain: StreamChain = field(default_factory=lambda: StreamChain((), (), False))
    user_metadata: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    foreign: list[StoredObject] = field(default_factory=list)
    unreadable: list[SourceError] = field(default_factory=list)

    @property
    def objects(self) -> tuple[StoredObject, ...]:
        """Those that are there."""
        return tuple(one for one in (self.data, self.index_object) if one)

    @cached_property
    def indexed(self) -> dict[int, IndexedLedger]:
        """What the index says of each ledger."""
        return {one.ledger_id: one for one in self.index.ledgers} if self.index else {}

    @cached_property
    def runs(self) -> dict[int, list[Block]]:
        """Blocks of each ledger, by place."""
        runs: dict[int, list[Block]] = {}
        for one in self.chain.blocks:
            runs.setdefault(one.ledger_id, []).append(one.block)
        return runs

    @property
    def ledgers(self) -> tuple[int, ...]:
        """Ledgers that data or index name, in order."""
        return tuple(sorted(self.runs.keys() | self.indexed.keys()))


@dataclass(frozen=True)
class Streamed:
    """A ledger, or a stretch of one, in one object.

    Attributes:
        ledger_id: ledger.
        uuid: of the object, by its name.
        first_entry_id: of the stretch; None where no block of it is there.
        bytes: of the data object that are its own; of the first ledger also the index, and what is no block.
        objects: data and index, as far as they are there.
        written_ms: when the newer of them was written; None when unknown.
    """

    ledger_id: int
    uuid: str
    first_entry_id: int | None
    bytes: int
    objects: tuple[str, ...]
    written_ms: int | None


def read_streams(
    source: Source, stored: Iterable[StoredObject], ledgers: Collection[int] | None = None
) -> list[StreamFound]:
    """Each object with its index; with `ledgers` the data of those whose index names none of them are not opened."""
    by_path = {one.path: one for one in stored}
    keys = sorted({path.removesuffix("-index") for path in by_path})
    pairs = [(by_path.get(key), by_path.get(f"{key}-index")) for key in keys]
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(partial(_read, source, ledgers), pairs))


def _read(
    source: Source, ledgers: Collection[int] | None, pair: tuple[StoredObject | None, StoredObject | None]
) -> StreamFound:
    stream = StreamFound(*pair)
    if not _is_stream(source, stream):
        stream.foreign = [] if stream.unreadable else list(stream.objects)
        stream.data = stream.index_object = None
        return stream
    _with_index(source, stream)
    if stream.data is None:
        path = stream.index_object.path if stream.index_object else ""
        stream.problems.append(Problem("S04", "The index object has no data object beside it.", path))
    elif ledgers is None or stream.index is None or not stream.indexed.keys().isdisjoint(ledgers):
        _with_data(source, stream, stream.data)
    return stream


def _is_stream(source: Source, stream: StreamFound) -> bool:
    """Whether one of both begins as it must: the other one may be damaged."""
    for stored in stream.objects:
        try:
            if source.read(stored.path, 0, 4).tobytes() in _MAGICS:
                return True
        except SourceError as error:
            stream.unreadable.append(error)
    return False


def _with_index(source: Source, stream: StreamFound) -> None:
    listed = stream.index_object
    if listed is None:
        return
    try:
        fetched = source.fetch(listed.path, MAX_INDEX_BYTES)
        stream.user_metadata = dict(fetched.user_metadata)
        stream.index = decode_streaming_index(fetched.data)
    except SourceError as error:
        stream.problems.append(Problem("S02", str(error), listed.path, incomplete=True))
    except DecodeError as error:
        stream.faults.append(replace(fault_of(error, 0, listed.size), path=listed.path))
        message = f"The index cannot be decoded: {error.code} at byte {error.offset}."
        stream.problems.append(Problem("S08", message, listed.path))


def _with_data(source: Source, stream: StreamFound, data: StoredObject) -> None:
    """The blocks, and whether index and data agree."""
    try:
        if stream.index_object is None:
            stream.problems.append(Problem("S05", "The data object has no index object beside it.", data.path))
            stream.user_metadata = dict(source.user_metadata(data.path))
        stream.chain = chain = read_stream(source, data, stream.index)
    except SourceError as error:
        stream.problems.append(Problem("S02", str(error), data.path, incomplete=True))
        return
    stream.faults += chain.faults
    if not chain.is_whole and stream.index is None:
        message = "The block headers do not form a chain to the end of the data object."
        stream.problems.append(Problem("S12", message, data.path))
    if stream.index is not None and stream.index_object is not None:
        stream.problems += _disagreements(stream.index, chain, data, stream.index_object.path)


def _disagreements(index: StreamingIndex, chain: StreamChain, data: StoredObject, path: str) -> Iterator[Problem]:
    sizes = f"The data object has {data.size} bytes, the index promises {index.data_length}."
    if data.size < index.data_length:
        lies = chain.is_whole and all(offset < data.size for offset in index.blocks())  # no block was cut off
        yield Problem("S09" if lies else "S10", sizes, path if lies else data.path)
    elif data.size > index.data_length:
        yield Problem("S11", sizes, data.path)
    there = {one.block.offset: (one.ledger_id, one.block.first_entry_id) for one in chain.blocks}
    named = {offset: of for offset, of in index.blocks().items() if offset < data.size}
    if there != named:
        other = min(offset for offset in there.keys() | named.keys() if there.get(offset) != named.get(offset))
        yield Problem("S09", f"The index names other blocks than the data has, from byte {other} on.", path)


def findings_of_streams(streams: Iterable[StreamFound]) -> Iterator[Finding]:
    """What is wrong with objects of which no ledger is known."""
    for one in streams:
        if one.ledgers:
            continue
        for problem in one.problems:
            path, message = printable([problem.path, problem.message])
            yield Finding(problem.code, path, message, evidence=(path,), incomplete=problem.incomplete)


def streamed(streams: Iterable[StreamFound]) -> Iterator[Streamed]:
    """Each ledger of each object."""
    for one in streams:
        runs = {ledger_id: one.runs.get(ledger_id, []) for ledger_id in one.ledgers}
        written = [stored.modified_ms for stored in one.objects if stored.modified_ms is not None]
        paths = tuple(stored.path for stored in one.objects)
        rest = sum(stored.size for stored in one.objects) - sum(piece.block.length for piece in one.chain.blocks)
        for number, (ledger_id, run) in enumerate(runs.items()):
            uuid = paths[0].rpartition("/")[2].removesuffix("-index")
            first = min((block.first_entry_id for block in run), default=None)
            own = sum(block.length for block in run) + (0 if number else rest)
            yield Streamed(ledger_id, uuid, first, own, paths, max(written, default=None))
