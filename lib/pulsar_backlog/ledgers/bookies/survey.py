"""What entry logs and journals hold: every file read once, from record to record, into extents of each ledger.

An extent is a stretch of one file that holds records of a ledger, and perhaps of others between them; it says which
entry ids it has, not where each lies. Extents of all files are the plan of a ledger's scan.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from pulsar_backlog.errors import CONTEXT_BYTES, DecodeError, SourceError
from pulsar_backlog.ledgers.bookies import kernel
from pulsar_backlog.ledgers.bookies.digests import DIGEST_BYTES, digest_of
from pulsar_backlog.ledgers.bookies.header import HEADER_BYTES, mapped_ledgers, read_header
from pulsar_backlog.ledgers.bookies.names import Role
from pulsar_backlog.ledgers.copies import Examined, Pair
from pulsar_backlog.ledgers.entry_batch import WINDOW_BYTES
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.stored_objects import StoredObject
from pulsar_backlog.ledgers.values import Block
from pulsar_backlog.wire.arrays import Bytes, Int64s
from pulsar_backlog.wire.entry import decode_entry

COPY = "bookies"
"""What stands for the offload attempt's UUID."""
GAP_BYTES = 256 * 1024
"""Bytes of others between two records from which on a new extent begins: what is read for nothing at most."""
THREADS = 4
MAX_GAPS = 100
"""Damaged stretches of one file that are told one by one; the rest is only counted."""
LOOKED_AT = 8
"""Entries of a ledger, in the first window of a file that has some, looked at to know whether it holds messages."""

_COLUMNS = ("ledger", "offset", "length", "first", "last", "count", "lac")


@dataclass(frozen=True)
class Log:
    """A file as listed, and what its name says that it is."""

    stored: StoredObject
    role: Role


@dataclass
class LogFound:
    """What one file holds.

    Attributes:
        log: which.
        extents: a row for each, columns as `_COLUMNS`: ledger, first byte, bytes, least and greatest entry id, how many
            entries at least, greatest last-confirmed entry that one of them names.
        messages: for each ledger of the file, how many of the entries looked at are messages, and how many are not.
        fenced: ledgers that a journal says are fenced.
        gaps: first byte and end of stretches that are neither record nor padding, and how many there are.
        refused: why nothing of it was read, or None.
        is_foreign: whether it is no log of a bookie at all.
    """

    log: Log
    extents: Int64s = field(default_factory=lambda: np.empty((0, len(_COLUMNS)), dtype=np.int64))
    messages: dict[int, tuple[int, int]] = field(default_factory=dict)
    fenced: set[int] = field(default_factory=set)
    gaps: list[tuple[int, int, bytes]] = field(default_factory=list)
    gap_count: int = 0
    refused: str | None = None
    unreadable: SourceError | None = None
    is_foreign: bool = False


def read_logs(source: Source, logs: list[Log], ledgers: Collection[int] | None = None) -> Iterator[LogFound]:
    """Read each file; with `ledgers` those whose map names none of them are left out."""
    with ThreadPoolExecutor(THREADS) as pool:
        yield from pool.map(partial(read_log, source, ledgers=ledgers), logs)


def read_log(source: Source, log: Log, ledgers: Collection[int] | None = None) -> LogFound:
    """Read one file; what cannot be read is said in what is found."""
    found = LogFound(log)
    path, size = log.stored.path, log.stored.size
    if not size:
        return found  # made ahead of its first record
    try:
        begins = source.read(path, 0, HEADER_BYTES).tobytes()
        found.is_foreign = log.role == "entry log" and begins[:4] != b"BKLO" and "current" not in path.split("/")
        if found.is_foreign:
            return found
        header = read_header(log.role, begins)
        if ledgers is not None and log.role == "entry log":
            mapped = mapped_ledgers(source, path, size, header)
            if mapped is not None and mapped.isdisjoint(ledgers):
                return found
        _Reader(source, found).read(header.start)
    except DecodeError as error:
        found.refused = f"{error.code} at byte {error.offset}: expected {error.expected}, found {error.found}"
    except SourceError as error:
        found.unreadable = error
    return found


class _Reader:
    """One pass over a file."""

    def __init__(self, source: Source, found: LogFound) -> None:
        self._source, self._found = source, found
        self._parts: list[Int64s] = []

    def read(self, start: int) -> None:
        log = self._found.log
        path, size = log.stored.path, log.stored.size
        state = np.zeros(kernel.STATE_SIZE, dtype=np.int64)
        state[kernel.GAP_START] = -1
        gaps = np.empty((MAX_GAPS, 2), dtype=np.int64)
        position, needed = start, kernel.HEAD_BYTES
        with self._source.ahead(path, start, size) as stretch:
            while position < size:
                buffer = stretch.read(position, min(size, position + max(WINDOW_BYTES, needed)))
                if not buffer.size:
                    break
                size = size if position + buffer.size >= min(size, position + WINDOW_BYTES) else position + buffer.size
                self._window(buffer, position, size, state, gaps)
                position += int(state[kernel.POSITION])
                needed = int(state[kernel.NEEDED])
                if state[kernel.REASON] == kernel.END:
                    break
        if self._parts:
            self._found.extents = np.concatenate(self._parts)
        self._found.gap_count = int(state[kernel.GAPS])
        for first, end in gaps[: min(self._found.gap_count, MAX_GAPS)].tolist():
            context = self._source.read(path, first, first + CONTEXT_BYTES).tobytes()
            self._found.gaps.append((first, end, context))

    def _window(self, buffer: Bytes, base: int, end: int, state: Int64s, gaps: Int64s) -> None:
        """All records whose heads lie in the window, into extents."""
        journal = self._found.log.role == "journal"
        room = buffer.size // 20 + 1
        records = np.empty((kernel.COLUMNS, room), dtype=np.int64)
        state[kernel.POSITION] = 0
        kernel.walk_records(buffer, base, end - base, journal, False, state, records, gaps)
        records = records[:, : int(state[kernel.RECORDS])]
        control = records[kernel.ENTRY] < 0
        if control.any():
            fences = control & (records[kernel.ENTRY] == kernel.FENCE)
            self._found.fenced.update(np.unique(records[kernel.LEDGER][fences]).tolist())
            records = records[:, ~control]
        if not records.shape[1]:
            return
        records = records[:, np.lexsort((records[kernel.PLACE], records[kernel.LEDGER]))]
        self._look(buffer, records)
        self._parts.append(_extents(records, base))

    def _look(self, buffer: Bytes, records: Int64s) -> None:
        """Whether the entries of ledgers that are new in this file are messages."""
        ledgers = records[kernel.LEDGER]
        starts = np.flatnonzero(np.diff(ledgers, prepend=ledgers[0] - 1))
        ends = np.append(starts[1:], len(ledgers))
        for first, end in zip(starts.tolist(), ends.tolist(), strict=True):
            ledger = int(ledgers[first])
            if ledger in self._found.messages:
                continue
            places, sizes = records[kernel.PLACE, first:end], records[kernel.SIZE, first:end]
            whole = (places + kernel.SIZE_BYTES + sizes <= buffer.size).nonzero()[0]
            if len(whole):
                whole = whole[np.unique(np.linspace(0, len(whole) - 1, LOOKED_AT).astype(np.int64))]
                self._found.messages[ledger] = _messages(buffer, places[whole], sizes[whole])


def _messages(buffer: Bytes, places: Int64s, sizes: Int64s) -> tuple[int, int]:
    """How many of these entries of one ledger are messages, and how many are not."""
    digest = digest_of(buffer, places, sizes)
    if digest is None:
        return 0, len(places)
    head = kernel.HEAD_BYTES + DIGEST_BYTES[digest[0]]
    messages = 0
    for at, size in zip(places.tolist(), sizes.tolist(), strict=True):
        try:
            decode_entry(buffer[at + head : at + kernel.SIZE_BYTES + size].tobytes())
        except DecodeError:
            continue
        messages += 1
    return messages, len(places) - messages


def _extents(records: Int64s, base: int) -> Int64s:
    """Extents of records that are sorted by ledger and place; rows as `_COLUMNS`."""
    ledgers, places = records[kernel.LEDGER], records[kernel.PLACE]
    ends = places + kernel.SIZE_BYTES + records[kernel.SIZE]
    breaks = np.ones(len(places), dtype=np.bool_)
    breaks[1:] = (ledgers[1:] != ledgers[:-1]) | (places[1:] - ends[:-1] > GAP_BYTES)
    starts = np.flatnonzero(breaks)
    last = np.append(starts[1:], len(places)) - 1
    entries = records[kernel.ENTRY]
    highest = np.maximum.accumulate(entries + (np.cumsum(breaks) << 41))  # ids have 40 bits
    new = np.ones(len(places), dtype=np.int64)
    new[1:] = highest[1:] > highest[:-1]  # what comes again, or too late, does not make an extent dense
    return np.stack(
        (
            ledgers[starts],
            places[starts] + base,
            ends[last] - places[starts],
            np.minimum.reduceat(entries, starts),
            np.maximum.reduceat(entries, starts),
            np.add.reduceat(new, starts),
            np.maximum.reduceat(records[kernel.LAC], starts),
        ),
        axis=1,
    )


@dataclass(frozen=True)
class LedgerFound:
    """A ledger as the files have it: its copy, and the greatest last-confirmed entry that one of its entries names."""

    examined: Examined
    last_confirmed: int
    last_entry: int
    is_of_messages: bool


def ledgers_found(found: list[LogFound], ledgers: Collection[int] | None = None) -> Iterator[LedgerFound]:
    """Each ledger of the files, in order of its id. Of journals only what no entry log has is kept."""
    parts = [np.column_stack((one.extents, np.full(len(one.extents), i))) for i, one in enumerate(found)]
    extents = np.concatenate(parts) if parts else np.empty((0, len(_COLUMNS) + 1), dtype=np.int64)
    extents = extents[np.lexsort((extents[:, 1], extents[:, -1], extents[:, 3], extents[:, 0]))]
    starts = np.flatnonzero(np.diff(extents[:, 0], prepend=-1))
    for rows in np.split(extents, starts[1:]) if len(extents) else ():
        ledger_id = int(rows[0, 0])
        if ledgers is None or ledger_id in ledgers:
            yield _ledger(ledger_id, rows, found)


def _ledger(ledger_id: int, rows: Int64s, found: list[LogFound]) -> LedgerFound:
    is_journal = np.array([found[number].log.role == "journal" for number in rows[:, -1].tolist()])
    if is_journal.any() and not is_journal.all():
        covered = _covered(rows[~is_journal], rows)
        rows = rows[~is_journal | ~covered]
    paths = {number: found[number].log.stored for number in np.unique(rows[:, -1]).tolist()}
    blocks = tuple(
        Block(offset, length, first, count, uri=paths[number].path, last_entry_id=last)
        for _, offset, length, first, last, count, _, number in rows.tolist()
    )
    tags = "\0".join(f"{one.path}\0{one.size}\0{one.etag}" for one in paths.values())
    etag = hashlib.sha256(tags.encode(errors="surrogateescape")).hexdigest()[:32]
    stored = StoredObject(blocks[0].uri or "", sum(block.length for block in blocks), etag)
    looked = [one.messages[ledger_id] for one in found if ledger_id in one.messages]
    is_of_messages = any(messages for messages, _ in looked) or not looked
    pair = Pair(ledger_id, COPY, stored, None, "bookies")
    return LedgerFound(Examined(pair, blocks=blocks), int(rows[:, 6].max()), int(rows[:, 4].max()), is_of_messages)


def _covered(logs: Int64s, rows: Int64s) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which extents hold nothing but entries that extents of entry logs have without a gap."""
    dense = logs[logs[:, 5] == logs[:, 4] - logs[:, 3] + 1]
    if not len(dense):
        return np.zeros(len(rows), dtype=np.bool_)
    first, last = dense[:, 3], np.maximum.accumulate(dense[:, 4])
    begins = np.ones(len(dense), dtype=np.bool_)
    begins[1:] = first[1:] > last[:-1] + 1
    starts = first[begins]
    ends = last[np.append(np.flatnonzero(begins)[1:], len(dense)) - 1]
    at = np.searchsorted(starts, rows[:, 3], side="right") - 1
    covered: np.ndarray[tuple[int], np.dtype[np.bool_]] = (at >= 0) & (rows[:, 4] <= ends[np.maximum(at, 0)])
    return covered
