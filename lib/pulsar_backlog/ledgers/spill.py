"""Objects of a listing that are too many to be held: rows of Parquet files, in the order in which they were met.

A row has what its name says (`Attempt`), its part in the attempt, and what the store says of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pulsar_backlog.ledgers.copies import Pair
from pulsar_backlog.ledgers.storage_kinds import Kind
from pulsar_backlog.ledgers.stored_objects import StoredObject

if TYPE_CHECKING:
    import pyarrow as pa  # takes longer than a question about one entry; few listings are spilled

MAX_HELD_OBJECTS = 50_000
"""Objects of ledgers that a listing holds; a listing of more is spilled. With what is found of their copies they take
about 100 MB."""
FILE_ROWS = 50_000
"""Rows of a file: what waits in memory to be written."""
CHECKSUMS = ".data.crc"
"""The part of an attempt that has the checksums of its data."""

Attempt = tuple[int, str, str, Kind]
"""Ledger, UUID and folder of an offload attempt, and how it is stored."""
Attempts = dict[Attempt, dict[str, StoredObject]]
"""Objects of attempts, by their part in it."""

_COLUMNS = {
    "ledger_id": "bigint", "uuid": "string", "folder": "string", "kind": "string", "part": "string", "path": "string",
    "size": "bigint", "etag": "string", "modified_ms": "bigint",
}  # fmt: skip
SPILL_DDL = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())


@dataclass
class Gathered:
    """Objects of attempts as they are listed: held, or in files once they are too many.

    Attributes:
        folder: where files may be written; None holds all.
        objects_by_attempt: those that no file has.
        objects: of all attempts.
        files: that were written.
    """

    folder: Path | None = None
    objects_by_attempt: Attempts = field(default_factory=dict)
    objects: int = 0
    files: int = 0
    _waiting: int = 0

    def add(self, attempt: Attempt, part: str, stored: StoredObject) -> None:
        """Take one more."""
        self.objects_by_attempt.setdefault(attempt, {})[part] = stored
        self.objects += 1
        self._waiting += 1
        if self.folder is not None and self._waiting >= (FILE_ROWS if self.files else MAX_HELD_OBJECTS):
            self._spill(self.folder)

    def close(self) -> None:
        """Write what waits, if anything was written before."""
        if self.files and self.objects_by_attempt and self.folder is not None:
            self._spill(self.folder)

    def _spill(self, folder: Path) -> None:
        import pyarrow as pa  # noqa: PLC0415 - see above
        import pyarrow.parquet as pq  # noqa: PLC0415

        schema = _schema()
        rows = [
            (*attempt, part, one.path, one.size, one.etag, one.modified_ms)
            for attempt, objects in self.objects_by_attempt.items()
            for part, one in objects.items()
        ]
        columns = [pa.array(column, one.type) for column, one in zip(zip(*rows, strict=True), schema, strict=True)]
        pq.write_table(pa.Table.from_arrays(columns, schema=schema), folder / f"{self.files:06d}.parquet")
        self.objects_by_attempt, self._waiting = {}, 0
        self.files += 1


def read_spilled(folder: Path) -> pa.Table:
    """All rows of a folder of spilled files."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - see above

    return pq.read_table(folder, schema=_schema())


def _schema() -> pa.Schema:
    import pyarrow as pa  # noqa: PLC0415 - see above

    types = {"bigint": pa.int64(), "string": pa.string()}
    return pa.schema([(name, types[kind]) for name, kind in _COLUMNS.items()])


def spilled_ledgers(rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[int, Attempts]]:
    """Attempts ledger by ledger, of rows in the order of ledgers."""
    for ledger_id, group in groupby(rows, key=itemgetter("ledger_id")):
        attempts: Attempts = {}
        for row in group:
            stored = StoredObject(row["path"], row["size"], row["etag"], row["modified_ms"])
            attempts.setdefault((ledger_id, row["uuid"], row["folder"], row["kind"]), {})[row["part"]] = stored
        yield ledger_id, attempts


def numbered(attempts: Attempts) -> list[Pair]:
    """Pairs by ledger and UUID; the same attempt in a second folder gets a number behind its UUID."""
    times: dict[tuple[int, str], int] = {}
    pairs = []
    for ledger_id, uuid, folder, kind in sorted(attempts):
        objects = attempts[ledger_id, uuid, folder, kind]
        data, index = objects.get("data"), objects.get("index")
        if data is None and index is None:
            continue
        times[ledger_id, uuid] = number = times.get((ledger_id, uuid), 0) + 1
        copy = uuid if number == 1 else f"{uuid}#{number}"
        pairs.append(Pair(ledger_id, copy, data, index, kind, objects.get(CHECKSUMS)))
    return pairs


def strays(attempts: Attempts) -> Iterator[StoredObject]:
    """Checksums of nothing."""
    for objects in attempts.values():
        if not objects.keys() & {"data", "index"}:
            yield from objects.values()
