"""What entry logs and journals hold: every file read once, from record to record, into extents of each ledger.

A record that its digest does not prove is not believed, be it about its ledger, its id or its size. Only a ledger of
which nothing in the file is proved may be one without a digest that is known: then it has several records, or no ledger
of the file is proved, or the file's ledgers map names it with the bytes of its one record. What else may speak for a
lone record, `lone.py` decides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock

import numpy as np

from pulsar_backlog.errors import CONTEXT_BYTES, DecodeError, SourceError
from pulsar_backlog.ledgers.bookies import kernel
from pulsar_backlog.ledgers.bookies.digests import DIGEST_BYTES, digest_of, verified
from pulsar_backlog.ledgers.bookies.extents import COLUMNS, Extents, beside
from pulsar_backlog.ledgers.bookies.header import HEADER_BYTES, mapped_ledgers, read_header
from pulsar_backlog.ledgers.bookies.names import Role
from pulsar_backlog.ledgers.entry_batch import WINDOW_BYTES
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.stored_objects import StoredObject
from pulsar_backlog.wire.arrays import Bytes, Int64s
from pulsar_backlog.wire.entry import decode_entry

THREADS = 4
MAX_GAPS = 100
"""Damaged stretches of one file that are told one by one; the rest is only counted."""
LOOKED_AT = 8
"""Entries of a ledger, in the first window of a file that has some, looked at to know whether it holds messages."""
LARGE_BYTES = 4 * WINDOW_BYTES
"""Windows larger than that, which a record's size asks for, are in memory one at a time."""

_LARGE = Lock()


@dataclass(frozen=True)
class Log:
    """A file as listed, and what its name says that it is."""

    stored: StoredObject
    role: Role


@dataclass(frozen=True)
class Damaged:
    """Records that their digest does not prove: how many, and the ids and first place that they claim."""

    records: int
    first: int
    last: int
    offset: int


@dataclass
class LogFound:
    """What one file holds.

    Attributes:
        log: which.
        extents: a row for each, columns as `COLUMNS`.
        messages: for each ledger of the file, how many of the entries looked at are messages, and how many are not.
        damaged: records that are not believed, by the ledger that they claim.
        proved: ledgers of which a record is proved.
        unproved: ledgers that are believed though none of their records is proved.
        lone: extents of single records that are not believed, of ledgers of which the file proves none.
        short: ledgers of which the file holds fewer bytes than its ledgers map says: both numbers.
        fenced: ledgers that a journal says are fenced.
        gaps: first byte and end of stretches that are neither record nor padding, and how many there are.
        refused: why nothing of it was read, or None.
        is_foreign: whether it is no log of a bookie at all.
    """

    log: Log
    extents: Int64s = field(default_factory=lambda: np.empty((0, len(COLUMNS)), dtype=np.int64))
    messages: dict[int, tuple[int, int]] = field(default_factory=dict)
    damaged: dict[int, Damaged] = field(default_factory=dict)
    proved: set[int] = field(default_factory=set)
    unproved: set[int] = field(default_factory=set)
    lone: dict[int, Int64s] = field(default_factory=dict)
    short: dict[int, tuple[int, int]] = field(default_factory=dict)
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
    log_result = LogFound(log)
    path, size = log.stored.path, log.stored.size
    if not size:
        return log_result  # made ahead of its first record
    try:
        begins = source.read(path, 0, HEADER_BYTES).tobytes()
        log_result.is_foreign = log.role == "entry log" and begins[:4] != b"BKLO" and "current" not in path.split("/")
        if log_result.is_foreign:
            return log_result
        header = read_header(log.role, begins)
        mapped = mapped_ledgers(source, path, size, header) if log.role == "entry log" else None
        if ledgers is not None and mapped is not None and mapped.keys().isdisjoint(ledgers):
            return log_result
        _Reader(source, log_result).read(header.start, mapped or {})
    except DecodeError as error:
        log_result.refused = f"{error.code} at byte {error.offset}: expected {error.expected}, found {error.found}"
    except SourceError as error:
        log_result.unreadable = error
    return log_result


class _Reader:
    """One pass over a file."""

    def __init__(self, source: Source, result: LogFound) -> None:
        self._source, self._found = source, result
        self._proved, self._unproved = Extents(), Extents()
        self._messages: dict[int, tuple[int, int]] = {}  # by records that nothing proves

    def read(self, start: int, mapped: Mapping[int, int]) -> None:
        """Read it from `start`; `mapped` are the bytes of ledgers by its map."""
        from pulsar_backlog.ledgers.bookies import records  # noqa: PLC0415 - loads numba

        path, size = self._found.log.stored.path, self._found.log.stored.size
        state, gaps = records.new_state(), np.empty((MAX_GAPS, 2), dtype=np.int64)
        position, wanted = start, WINDOW_BYTES
        with self._source.ahead(path, start, size) as stretch:
            while position < size and state[records.REASON] != records.END:
                with _LARGE if wanted > LARGE_BYTES else nullcontext():
                    buffer = stretch.read(position, min(size, position + wanted))
                    if buffer.size < min(size - position, wanted):
                        size = position + buffer.size
                    self._window(buffer, position, size, state, gaps)
                    del buffer
                position += int(state[records.POSITION])
                # With more than it needs, so that one record after another that claims to be large is not read again.
                wanted = max(WINDOW_BYTES, int(state[records.NEEDED]) * 5 // 4)
        self._settle(mapped)
        self._found.gap_count = int(state[records.GAPS])
        for first, end in gaps[: min(self._found.gap_count, MAX_GAPS)].tolist():
            context = self._source.read(path, first, first + CONTEXT_BYTES).tobytes()
            self._found.gaps.append((first, end, context))

    def _window(self, buffer: Bytes, base: int, end: int, state: Int64s, gaps: Int64s) -> None:
        """All records that the window has wholly, into extents."""
        from pulsar_backlog.ledgers.bookies.records import FENCE, POSITION, walk_records  # noqa: PLC0415 - loads numba

        state[POSITION] = 0
        records = walk_records(buffer, base, end - base, self._found.log.role == "journal", state, gaps)
        control = records[kernel.ENTRY] < 0
        if control.any():
            fences = control & (records[kernel.ENTRY] == FENCE)
            self._found.fenced.update(np.unique(records[kernel.LEDGER][fences]).tolist())
            records = records[:, ~control]
        if not records.shape[1]:
            return
        records = records[:, np.lexsort((records[kernel.PLACE], records[kernel.LEDGER]))]
        self._prove(buffer, records)
        is_proved = records[kernel.PROOF] != kernel.UNPROVED
        for extents, messages, some in (
            (self._proved, self._found.messages, records[:, is_proved]),
            (self._unproved, self._messages, records[:, ~is_proved]),
        ):
            _look(buffer, some, messages)
            extents.add(some, base)

    def _prove(self, buffer: Bytes, records: Int64s) -> None:
        """Hold what no checksum proves against HMAC, where a ledger has it."""
        unproved = np.flatnonzero(records[kernel.PROOF] == kernel.UNPROVED)
        ledgers = records[kernel.LEDGER, unproved]
        for at in np.split(unproved, np.flatnonzero(np.diff(ledgers)) + 1) if len(unproved) else ():
            some = records[:, at]
            digest = digest_of(buffer, some[kernel.PLACE], some[kernel.SIZE], some[kernel.PROOF])
            if digest == ("HMAC", True):
                agrees = verified(buffer, some[kernel.PLACE], some[kernel.SIZE], some[kernel.PROOF], "HMAC")
                records[kernel.PROOF, at[agrees]] = kernel.HMAC

    def _settle(self, mapped: Mapping[int, int]) -> None:
        """Decide which ledgers are believed."""
        proved, unproved = self._proved, self._unproved
        others = {ledger: count for ledger, count in unproved.records.items() if ledger not in proved.records}
        believed = {
            ledger
            for ledger, count in others.items()
            if count > 1 or not proved.records or mapped.get(ledger) == unproved.bytes[ledger]
        }
        result = self._found
        result.proved, result.unproved = set(proved.records), believed
        lone = unproved.rows(others.keys() - believed)
        result.lone = {int(row[0]): row for row in lone}
        damaged = unproved.rows(unproved.records.keys() & proved.records.keys())
        extents = proved.rows()
        result.extents = np.concatenate((extents, unproved.rows(believed), beside(extents, damaged)))
        for ledger, offset, _, first, last, _, _ in unproved.rows(unproved.records.keys() - believed).tolist():
            one = result.damaged.get(ledger, Damaged(unproved.records[ledger], first, last, offset))
            result.damaged[ledger] = replace(one, first=min(one.first, first), last=max(one.last, last))
        stored = {ledger: unproved.bytes[ledger] for ledger in believed} | proved.bytes
        for ledger, size in mapped.items():
            if stored.get(ledger, 0) < size:
                result.short[ledger] = (stored.get(ledger, 0), size)
        # What a record holds whose ledger id may be damaged says nothing of a ledger that has proved ones.
        looked = {one: seen for one, seen in self._messages.items() if one not in result.proved} | result.messages
        believable = stored.keys() | result.lone.keys()
        result.messages = {one: seen for one, seen in looked.items() if one in believable}


def _look(buffer: Bytes, records: Int64s, messages: dict[int, tuple[int, int]]) -> None:
    """Whether the entries of ledgers that `messages` lacks are messages: into it."""
    if not records.shape[1]:
        return
    ledgers = records[kernel.LEDGER]
    starts = np.flatnonzero(np.diff(ledgers, prepend=-1))
    ends = np.append(starts[1:], len(ledgers))
    for first, end in zip(starts.tolist(), ends.tolist(), strict=True):
        ledger = int(ledgers[first])
        if ledger in messages:
            continue
        places, sizes = records[kernel.PLACE, first:end], records[kernel.SIZE, first:end]
        whole = (places + kernel.SIZE_BYTES + sizes <= buffer.size).nonzero()[0]
        if len(whole):
            whole = whole[np.unique(np.linspace(0, len(whole) - 1, LOOKED_AT).astype(np.int64))]
            messages[ledger] = _messages(buffer, records[:, first:end][:, whole])


def _messages(buffer: Bytes, records: Int64s) -> tuple[int, int]:
    """How many of these entries of one ledger are messages, and how many are not."""
    places, sizes = records[kernel.PLACE], records[kernel.SIZE]
    digest = digest_of(buffer, places, sizes, records[kernel.PROOF])
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
