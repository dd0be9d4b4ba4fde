"""One scan unit -> Arrow batches of `entries` in the order stored, rows of `rejects`, the unit's account. No Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from pulsar_backlog.errors import DecodeError, SourceError
from pulsar_backlog.ledgers.entry_batch import Compressed, EntryBatch
from pulsar_backlog.ledgers.faults import Fault
from pulsar_backlog.ledgers.jcloud import ENTRY_HEADER_BYTES
from pulsar_backlog.ledgers.kinds import walk_unit
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.values import ScanUnit
from pulsar_backlog.scanning.accounts import UnitAccount
from pulsar_backlog.wire.arrays import Int64s
from pulsar_backlog.wire.columns import EntryDecoder
from pulsar_backlog.wire.rejects import ENTRY_CODES, HIDDEN_CODES

BATCH_ENTRIES = 65_536
"""Entries of a batch at most: enough to hide what a column costs, few enough to keep a worker small."""
BATCH_METADATA_BYTES = 8 * 1024 * 1024
"""Metadata of a batch at most, unless one entry has more."""

STRUCTURE_ENTRY_ID = -1


@dataclass(frozen=True)
class Piece:
    """A part of a unit's scan: at most `BATCH_ENTRIES` entries in the order stored, what was rejected, the account.

    Attributes:
        batch: rows of `entries`; None when there is none.
        rejects: rows of `rejects`.
        account: of both.
    """

    batch: pa.RecordBatch | None
    rejects: list[dict[str, Any]]
    account: UnitAccount


def scan_unit(source: Source, unit: ScanUnit, cluster: str, schema: pa.Schema) -> Iterator[Piece]:
    """Read a unit piece by piece. An unreadable unit ends with an account saying so.

    Args:
        source: where it lies.
        unit: what to read.
        cluster: name of the cluster.
        schema: that of `entries`, with dictionaries or without.
    """
    gathered = _Gathered(unit, schema)
    try:
        for entries in walk_unit(source, unit):
            if entries.faults:
                yield _fault_piece(entries.faults, unit, cluster)
            first = 0
            while (first := first + gathered.add(entries, first)) < len(entries.entry_id):
                yield gathered.piece(cluster)
                gathered = _Gathered(unit, schema, int(entries.length[first]))
            del entries  # its window goes before the next one is read
    except SourceError as error:
        yield Piece(None, [], UnitAccount(unreadable=str(error)))
    yield gathered.piece(cluster)


def _fault_piece(faults: tuple[Fault, ...], unit: ScanUnit, cluster: str) -> Piece:
    rows = [_fault_row(fault, unit, cluster) for fault in faults]
    scopes = Counter(row["scope"] for row in rows)
    return Piece(
        None,
        rows,
        UnitAccount(
            frames=scopes["entry"],
            rejected=scopes["entry"],
            faults=scopes["structure"],
            order_faults=sum(fault.code == "entry_id_out_of_order" for fault in faults),
            hidden=scopes["hidden"],
        ),
    )


class _Gathered:
    """Entries of a unit on their way into one batch: windows of large entries hold few of them."""

    def __init__(self, unit: ScanUnit, schema: pa.Schema, metadata_bytes: int = 0) -> None:
        """Have room for a batch, and at least for `metadata_bytes` of metadata."""
        self._unit, self._schema = unit, schema
        repeated = {field.name for field in schema if pa.types.is_dictionary(field.type)}
        most = sum(block.length for block in unit.blocks) // ENTRY_HEADER_BYTES + 1
        room = max(BATCH_METADATA_BYTES, metadata_bytes)
        self._decoder = EntryDecoder(min(most, BATCH_ENTRIES), room, repeated=repeated)
        self._places: list[_Places] = []

    def add(self, entries: EntryBatch, first: int) -> int:
        """Take entries from the `first` on; how many there was room for."""
        offset, length = entries.offset[first:], entries.length[first:]
        n = self._decoder.add(entries.buffer, offset, length)
        if n:
            self._places.append(_places(entries, slice(first, first + n)))
        return n

    def piece(self, cluster: str) -> Piece:
        """What was gathered, as a piece."""
        if not self._places:
            return Piece(None, [], UnitAccount())
        unit, schema = self._unit, self._schema
        decoded, places = self._decoder.decoded(), _joined(self._places)
        columns = {**decoded.columns, **places.columns(decoded.plain)}
        batch = _batch(columns, len(decoded.plain), unit, cluster, schema)
        if decoded.rows:
            constants = _constants(unit, cluster)
            rows = [{**row, **constants, **places.row(i)} for i, row in decoded.rows]
            order = np.argsort(np.concatenate((decoded.plain, [i for i, _ in decoded.rows])))
            batch = pa.concat_batches([batch, pa.RecordBatch.from_pylist(rows, schema=schema)]).take(pa.array(order))
        rejects = [_reject_row(error, places, i, unit, cluster) for i, error in decoded.errors]
        account = _account(batch, len(rejects), int(places.length.sum()))
        return Piece(batch if batch.num_rows else None, rejects, account)


@dataclass(frozen=True)
class _Places:
    """Which entries, and where they lie: arrays of equal length, named as the columns of `entries`."""

    entry_id: Int64s
    offset: Int64s
    length: Int64s
    inner_offset: Int64s | None
    block_length: Int64s | None
    path: Int64s | None = None
    paths: tuple[str, ...] = ()

    def columns(self, chosen: Int64s) -> dict[str, pa.Array]:
        """The columns of some entries that only the store knows."""
        names = ("entry_id", "offset") if self.inner_offset is None else _PLACE_COLUMNS
        columns = {name: pa.array(getattr(self, name)[chosen]) for name in names}
        if self.path is not None:
            columns["uri"] = pa.array(self.paths, pa.string()).take(pa.array(self.path[chosen]))
        return columns

    def row(self, at: int) -> dict[str, Any]:
        """The same of one entry."""
        values = {name: getattr(self, name) for name in _PLACE_COLUMNS}
        row: dict[str, Any] = {name: None if value is None else int(value[at]) for name, value in values.items()}
        return row if self.path is None else {**row, "uri": self.paths[int(self.path[at])]}


_PLACE_COLUMNS = ("entry_id", "offset", "inner_offset", "block_length")


def _places(entries: EntryBatch, chosen: slice) -> _Places:
    entry_id, length = entries.entry_id[chosen], entries.length[chosen]
    if entries.spread is not None:
        spread = entries.spread
        return _Places(entry_id, spread.offset[chosen], length, None, None, spread.path[chosen], spread.paths)
    blocks: Compressed | None = entries.compressed
    if blocks is None:
        return _Places(entry_id, entries.places[chosen], length, None, None)
    return _Places(entry_id, blocks.offset[chosen], length, blocks.inner_offset[chosen], blocks.length[chosen])


def _joined(places: list[_Places]) -> _Places:
    """All of one unit, which is compressed as a whole or not at all, and from the same files."""
    columns = ([getattr(part, field.name) for part in places] for field in fields(_Places) if field.name != "paths")
    joined: list[Any] = [None if parts[0] is None else np.concatenate(parts) for parts in columns]
    return replace(_Places(*joined), paths=places[0].paths)


def _batch(columns: dict[str, pa.Array], n: int, unit: ScanUnit, cluster: str, schema: pa.Schema) -> pa.RecordBatch:
    """The columns in the schema's order; what is the same for all is filled in, what is absent is null."""
    constants = _constants(unit, cluster)
    arrays = []
    for field in schema:
        if field.name in columns:
            column = columns[field.name]
            arrays.append(column if column.type == field.type else column.cast(field.type))
        else:
            arrays.append(_constant(constants.get(field.name), field.type, n))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _constant(value: Any, kind: pa.DataType, n: int) -> pa.Array:
    """A column that is the same in every row: of a large batch, the beginning of one that is made once.

    Two thirds of the columns are such. A small batch would hold on to more memory than it has rows for.
    """
    return _full(value, kind).slice(0, n) if n > BATCH_ENTRIES // 2 else _repeat(value, kind, n)


def _repeat(value: Any, kind: pa.DataType, n: int) -> pa.Array:
    """Such a column, made for its rows."""
    if value is None:
        return pa.nulls(n, kind)
    if not pa.types.is_dictionary(kind):
        return pa.repeat(pa.scalar(value, kind), n)
    numbers = pa.repeat(pa.scalar(0, kind.index_type), n)
    return pa.DictionaryArray.from_arrays(numbers, pa.array([value], kind.value_type))


@lru_cache(maxsize=64)
def _full(value: Any, kind: pa.DataType) -> pa.Array:
    return _repeat(value, kind, BATCH_ENTRIES)


def _constants(unit: ScanUnit, cluster: str) -> dict[str, Any]:
    """What is the same in every row of a unit."""
    return {"cluster": cluster, "topic": unit.topic, "ledger_id": unit.ledger_id, "uri": unit.path}


def _account(batch: pa.RecordBatch, rejected: int, entry_bytes: int) -> UnitAccount:
    decoded = batch.num_rows
    states = {"valid": 0, "mismatch": 0, "absent": 0}
    for count in batch.column("checksum_state").value_counts().to_pylist():
        states[count["values"]] += count["counts"]
    return UnitAccount(
        frames=decoded + rejected,
        decoded=decoded,
        rejected=rejected,
        entry_bytes=entry_bytes,
        valid=states["valid"],
        mismatch=states["mismatch"],
        absent=states["absent"],
    )


def _reject_row(error: DecodeError, places: _Places, at: int, unit: ScanUnit, cluster: str) -> dict[str, Any]:
    place = places.row(at)
    offset, inner_offset = place["offset"] or 0, place["inner_offset"]
    return {
        **_constants(unit, cluster),
        "uri": place.get("uri", unit.path),
        "entry_id": place["entry_id"],
        "scope": "entry",
        "code": error.code,
        "offset": offset + (error.offset if inner_offset is None else 0),
        "entry_offset": offset,
        "inner_offset": None if inner_offset is None else inner_offset + error.offset,
        "length": int(places.length[at]),
        "field": error.field,
        "expected": error.expected,
        "found": error.found,
        "first_bytes": error.context,
    }


def _fault_row(fault: Fault, unit: ScanUnit, cluster: str) -> dict[str, Any]:
    # An entry that a live broker confirmed and does not show is lost to us, or missed by nobody.
    scope = "hidden" if fault.code in HIDDEN_CODES else "entry" if fault.code in ENTRY_CODES else "structure"
    return {
        **_constants(unit, cluster),
        "uri": unit.uri_of(fault),
        "entry_id": STRUCTURE_ENTRY_ID if scope == "structure" or fault.entry_id is None else fault.entry_id,
        "scope": scope,
        "code": fault.code,
        "offset": fault.offset,
        "entry_offset": fault.entry_offset,
        "inner_offset": None,
        "length": fault.length,
        "field": fault.field,
        "expected": fault.expected,
        "found": fault.found,
        "first_bytes": fault.first_bytes,
    }
