"""One MapFile of a ledger examined: its header, its ledger metadata, its index, and where a large one is cut.

The data says what there is: parts begin at sync escapes whose first key can be read, so they and their entry ids are an
index made again in memory, and the scan needs no other. The index that is stored is what a broker needs; it is held
against the data, in a few places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pulsar_backlog.errors import DecodeError, SourceError
from pulsar_backlog.ledgers.copies import Examined, Pair, Problem
from pulsar_backlog.ledgers.faults import fault_of
from pulsar_backlog.ledgers.mapfile.checksums import Checksums, crc_file_bytes, read_chunk_bytes
from pulsar_backlog.ledgers.mapfile.header import BYTES_WRITABLE, Header
from pulsar_backlog.ledgers.mapfile.index import MAX_INDEX_BYTES, contradictions, decode_index, is_short
from pulsar_backlog.ledgers.mapfile.peek import PEEK_BYTES, peek
from pulsar_backlog.ledgers.mapfile.reading import Window, read_header
from pulsar_backlog.ledgers.mapfile.walk import METADATA_ID
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.stored_objects import StoredObject
from pulsar_backlog.ledgers.values import UNIT_BYTES, Block
from pulsar_backlog.wire.ledger_metadata import decode_ledger_metadata
from pulsar_backlog.wire.names import is_segment, topic_of_managed_ledger

SEARCH_BYTES = 16 * 1024 * 1024
"""Bytes searched for a sync escape where a file is to be cut; where there is none it is cut later."""
SEARCH_WINDOW_BYTES = 1024 * 1024
"""Of them at once: a block has about as many."""

_UNSUPPORTED = frozenset(("sequence_bad_codec", "sequence_bad_version"))


def examine(source: Source, pair: Pair, unit_bytes: int = UNIT_BYTES) -> Examined:
    """Read a copy's index, its ledger metadata, and the first key of each part of about `unit_bytes`."""
    attempt = Examined(pair, named_by_path=managed_ledger_of(source, pair))
    if pair.data is None:
        path = pair.index.path if pair.index else ""
        return _with(attempt, Problem("S04", "The index file has no data file beside it.", path))
    try:
        return _examined(source, attempt, pair.data, unit_bytes)
    except SourceError as error:
        return _with(attempt, Problem("S02", str(error), pair.data.path, incomplete=True))


def managed_ledger_of(source: Source, pair: Pair) -> str | None:
    """The managed ledger that the path of a MapFile names: the five folders above it of a segment, else the four."""
    stored = pair.data or pair.index
    folders = source.uri(stored.path).split("/")[:-2] if stored else []
    names = ("/".join(folders[-count:]) for count in (5, 4))
    return next((name for name in names if _is_named(name)), None)


def _is_named(name: str) -> bool:
    try:
        topic = topic_of_managed_ledger(name)
    except ValueError:
        return False
    # Five folders may also end with the four of a topic: those of V1 are left to the ledger metadata.
    return name.count("/") == 3 or is_segment(topic)


def _examined(source: Source, attempt: Examined, data: StoredObject, unit_bytes: int) -> Examined:
    try:
        header = read_header(source, data.path, BYTES_WRITABLE)
    except DecodeError as error:
        return _with_bad_header(attempt, data, error)
    window = _window(source, data, PEEK_BYTES)
    attempt = _with_metadata(attempt, header, window, data)
    attempt = _with_named_folder(source, attempt, data)
    attempt = replace(attempt, blocks=_parts(source, header, data, attempt.expected_entries, unit_bytes))
    attempt = _with(attempt, *_checksum_problems(source, attempt.pair, data))
    return _with_index(source, attempt, header, window)


def _window(source: Source, data: StoredObject, size: int) -> Window:
    return Window(source, data.path, 0, data.size, size, Checksums(source, None, 0, 0))


def _with_bad_header(attempt: Examined, data: StoredObject, error: DecodeError) -> Examined:
    attempt = replace(attempt, faults=(fault_of(error, 0, data.size),))
    words = f"{error.code} at byte {error.offset}: expected {error.expected}, found {error.found}"
    if error.code in _UNSUPPORTED:
        return _with(attempt, Problem("S21", f"The MapFile is of a kind that is not read: {words}.", data.path))
    return _with(attempt, Problem("S12", f"The data file cannot be read from its header on: {words}.", data.path))


def _with_metadata(attempt: Examined, header: Header, window: Window, data: StoredObject) -> Examined:
    """The ledger metadata, which are the first record."""
    first = peek(header, window, header.length, with_value=True)
    if first is None or first.key != METADATA_ID or first.value is None:
        there = "no record that can be read" if first is None else f"key {first.key}"
        message = f"The first record should hold the ledger metadata, with key {METADATA_ID}: found {there}."
        return _with(attempt, Problem("S12", message, data.path))
    try:
        attempt = replace(attempt, metadata=decode_ledger_metadata(first.value))
    except DecodeError as error:
        attempt = replace(attempt, faults=(*attempt.faults, fault_of(error, header.length, first.end - header.length)))
        return _with(attempt, Problem("S09", f"The ledger metadata cannot be decoded: {error.code}.", data.path))
    if attempt.expected_entries and (attempt.expected_bytes or 0) >= 0:
        return attempt
    entries, size = attempt.expected_entries, attempt.expected_bytes
    message = f"The ledger metadata of an offloaded ledger promises {entries} entries of {size} bytes."
    return _with(attempt, Problem("S09", message, data.path))


def _with_named_folder(source: Source, attempt: Examined, data: StoredObject) -> Examined:
    """The path should end with what the ledger metadata name."""
    name = attempt.metadata.managed_ledger if attempt.metadata else None
    folder = source.uri(data.path).rsplit("/", 2)[0]
    if name is None or attempt.named_by_path is None or folder.endswith(f"/{name}"):
        return attempt
    message = f"The ledger metadata name the managed ledger {name[:200]!r}, the folder {attempt.named_by_path[:200]!r}."
    return _with(attempt, Problem("S09", message, data.path))


def _parts(source: Source, header: Header, data: StoredObject, total: int | None, unit_bytes: int) -> tuple[Block, ...]:
    """Parts of the data from escape to escape, the first with the header; each with the entries it must hold."""
    window = _window(source, data, SEARCH_WINDOW_BYTES)
    starts = [(0, 0)]
    position = unit_bytes
    while position < data.size:
        cut = _cut(header, window, position, starts[-1][1], total)
        if cut is not None:
            starts.append(cut)
        position = unit_bytes + (position if cut is None else cut[0])
    parts = []
    ends: list[tuple[int, int | None]] = [*starts[1:], (data.size, total)]
    for (at, first), (end, following) in zip(starts, ends, strict=True):
        count = following - first if following is not None and following > first else None
        parts.append(Block(at, end - at, first, count, is_last=end == data.size))
    return tuple(parts)


def _cut(header: Header, window: Window, position: int, before: int, total: int | None) -> tuple[int, int] | None:
    """The next escape from `position` on, and the id of the entry that follows; None where none is near."""
    limit = min(window.end, position + SEARCH_BYTES)
    while (position := window.find(header.escape, position, limit)) < limit:
        record = peek(header, window, position)
        if record is not None and before < record.key and (total is None or record.key < total):
            return position, record.key
        position += 1
    return None


def _checksum_problems(source: Source, pair: Pair, data: StoredObject) -> Iterator[Problem]:
    """Whether the checksum file is as long as the data asks for: nothing else tells how long they were."""
    listed = pair.checksums
    if listed is None or listed.size == crc_file_bytes(data.size):
        return
    try:
        chunk = read_chunk_bytes(source, listed.path)
    except (DecodeError, SourceError) as error:
        yield Problem("S24", f"The checksum file cannot be used: {error}.", listed.path)
        return
    needed = crc_file_bytes(data.size, chunk)
    message = f"The checksum file has {listed.size} bytes; {data.size} bytes of data need {needed}."
    if listed.size > needed:
        yield Problem("S10", message, data.path)
    elif listed.size < needed:
        yield Problem("S24", message, listed.path)


def _with_index(source: Source, attempt: Examined, header: Header, window: Window) -> Examined:
    listed, path = attempt.pair.index, window.path
    if listed is None:
        return _with(attempt, Problem("S05", "The data file has no index file beside it.", path))
    try:
        index = decode_index(source.fetch(listed.path, MAX_INDEX_BYTES).data)
    except SourceError as error:
        return _with(attempt, Problem("S02", str(error), listed.path, incomplete=True))
    except DecodeError as error:
        attempt = replace(attempt, faults=(*attempt.faults, fault_of(error, 0, listed.size)))
        return _with(attempt, Problem("S08", f"The index cannot be decoded: {error.code}.", listed.path))
    attempt = replace(attempt, has_index=True)
    if contradiction := next(contradictions(index, header, window), None):
        return _with(attempt, Problem("S09", f"The index does not fit the data: {contradiction}.", listed.path))
    if is_short(index, header, window, attempt.expected_entries):
        last = f"its last pair is entry {index.keys[-1]}" if len(index.keys) else "it holds no pair"
        return _with(attempt, Problem("S23", f"The index ends early: {last}.", listed.path))
    return attempt


def _with(attempt: Examined, *problems: Problem) -> Examined:
    return replace(attempt, problems=(*attempt.problems, *problems))
