"""What the indexes of bookies say: first and last entry of each ledger, and where they lie in the entry logs.

An index proves nothing of an entry's bytes. It is read so that what entry logs lost is named: an index that cannot be
read, or not wholly, is a note, and the rest goes on. RocksDB's databases are copied into a private folder and read by
a process of their own, see `index_program.py`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

import numpy as np
from google.protobuf.message import DecodeError as ProtobufError

from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.bookies import index_program
from pulsar_backlog.ledgers.bookies.index_files import read_index_files
from pulsar_backlog.ledgers.bookies.names import DATABASES
from pulsar_backlog.ledgers.entry_batch import WINDOW_BYTES
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.stored_objects import StoredObject
from pulsar_backlog.wire.arrays import Int64s
from pulsar_backlog.wire.proto import bookie_index_pb2 as pb

MAX_BYTES = 8 * 1024 * 1024 * 1024
"""Largest database that is copied: about 24 bytes for each entry of a bookie, before compression."""
MAX_FILES = 20_000
COLUMNS = ("ledger", "first", "last", "first location", "last location")
"""Of a row: a ledger, its least and greatest entry id, and where these two lie."""

_SECONDS = 2 * index_program.SECONDS
_WHY_BYTES = 300
_MAX_ENTRY_ID = 1 << 40
_KEPT_VARIABLES = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR")


@dataclass
class Index:
    """The index of one ledger directory.

    Attributes:
        folder: where its files lie.
        rows: its ledgers, columns as `COLUMNS`; not those that the bookie has deleted.
        fenced: ledgers that it says are fenced.
        notes: why something of it was not read.
        knows_deleted: whether it was read which ledgers the bookie has deleted.
    """

    folder: str
    rows: Int64s = field(default_factory=lambda: np.empty((0, len(COLUMNS)), dtype=np.int64))
    fenced: set[int] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    knows_deleted: bool = True


def read_indexes(source: Source, files: Sequence[StoredObject]) -> Iterator[Index]:
    """The index of each ledger directory, from the files that the listing names."""
    ordered = sorted(files, key=lambda one: (_directory(one), one.path))
    for folder, of_folder in groupby(ordered, key=_directory):
        index = Index(folder)
        some = list(of_folder)
        databases = {
            name: [one for one in some if one.path.rpartition("/")[0].rpartition("/")[2] == name] for name in DATABASES
        }
        single = [one for one in some if one.path.endswith(".idx")]
        if databases["locations"]:
            _read_databases(source, databases, index)
        if single:
            rows, fenced, notes = read_index_files(source, single)
            index.rows = np.concatenate((index.rows, rows))
            index.fenced |= fenced
            index.notes += notes
        yield index


def _directory(stored: StoredObject) -> str:
    """The `current` folder that an index file belongs to."""
    levels = 3 if stored.path.endswith(".idx") else 2
    return "/".join(stored.path.split("/")[:-levels])


def _read_databases(source: Source, databases: dict[str, list[StoredObject]], index: Index) -> None:
    """`locations`, less the ledgers that `ledgers` has no longer."""
    data = _output(source, "locations", databases["locations"], index)
    rows = np.frombuffer(data[: len(data) // 40 * 40], dtype=">i8").astype(np.int64).reshape(-1, len(COLUMNS))
    ledger, first, last = rows[:, 0], rows[:, 1], rows[:, 2]
    rows = rows[(ledger >= 0) & (first >= 0) & (first <= last) & (last < _MAX_ENTRY_ID)]
    notes = len(index.notes)
    exist: set[int] = set()
    for ledger_id, record in _records(_output(source, "ledgers", databases["ledgers"], index)):
        if record is None or record.exists:
            exist.add(ledger_id)
        if record is not None and record.fenced:
            index.fenced.add(ledger_id)
    index.knows_deleted = bool(databases["ledgers"]) and len(index.notes) == notes
    if index.knows_deleted:
        rows = rows[np.fromiter((one in exist for one in rows[:, 0].tolist()), np.bool_, len(rows))]
    index.rows = rows


def _records(data: bytes) -> Iterator[tuple[int, pb.LedgerData | None]]:
    """Each ledger of the output with its record; None where that is none."""
    at, head = 0, index_program.LEDGER
    while at + head.size <= len(data):
        ledger_id, length = head.unpack_from(data, at)
        at += head.size + length
        try:
            yield ledger_id, pb.LedgerData.FromString(data[at - length : at])
        except ProtobufError:
            yield ledger_id, None


def _output(source: Source, name: str, files: Sequence[StoredObject], index: Index) -> bytes:
    """What the program makes of one database; what it did not read is noted."""
    total = sum(one.size for one in files)
    if not files:
        index.notes.append(f"{name} is not here")
        return b""
    if total > MAX_BYTES or len(files) > MAX_FILES:
        index.notes.append(
            f"{name} was not read: {len(files):,} files of {total:,} bytes, at most {MAX_FILES:,} of {MAX_BYTES:,} are"
        )
        return b""
    try:
        with tempfile.TemporaryDirectory(prefix="pulsar-backlog-index-") as scratch:  # mode 0700
            if shutil.disk_usage(scratch).free < 2 * total:
                index.notes.append(
                    f"{name} was not read: the folder for temporary files has no room for {total:,} bytes"
                )
                return b""
            data, why = _run(name, _copied(source, files, Path(scratch)))
            if why is not None:
                index.notes.append(f"{name} was not read wholly: {why.replace(f'{scratch}/', '')}")
            return data
    except (SourceError, OSError) as error:
        index.notes.append(f"{name} was not read: {error}")
        return b""


def _copied(source: Source, files: Iterable[StoredObject], scratch: Path) -> Path:
    """A copy of a database, which opening it changes."""
    folder = scratch / "database"
    folder.mkdir()
    for one in files:
        with (folder / one.path.rpartition("/")[2]).open("xb") as out, source.ahead(one.path, 0, one.size) as stretch:
            for at in range(0, one.size, WINDOW_BYTES):
                out.write(stretch.read(at, min(one.size, at + WINDOW_BYTES)).data)
    return folder


def _run(name: str, folder: Path) -> tuple[bytes, str | None]:
    """The program's output, and why it is not all of the database, or None."""
    command = [sys.executable, "-m", index_program.__name__, name, str(folder)]
    environment = {key: os.environ[key] for key in _KEPT_VARIABLES if key in os.environ}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    output, words = folder.parent / "output", folder.parent / "words"
    with output.open("xb") as out, words.open("xb") as errors:
        why = _ended(command, environment, out, errors)
    text = words.read_bytes()[-_WHY_BYTES:].decode(errors="replace").strip()
    if why is None and text != index_program.ENDED:
        reasons = {
            index_program.SKIPPED: "records of its write-ahead log are damaged",
            index_program.MORE: f"it names more than {index_program.MAX_LEDGERS:,} ledgers",
        }
        why = reasons.get(text, text.splitlines()[-1] if text else "the program that reads it said nothing")
    return output.read_bytes(), why


def _ended(command: list[str], environment: dict[str, str], out: BinaryIO, words: BinaryIO) -> str | None:
    """Run the program; why it did not come to its end, or None."""
    try:
        done = subprocess.run(  # noqa: S603 - our own program, no shell
            command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=words, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"it took longer than {_SECONDS} seconds"
    if done.returncode < 0:
        return f"the program that reads it was ended by signal {-done.returncode}: by its bytes, or at its bounds"
    return None
