"""One scan unit -> Arrow batches of `entries`, rows of `rejects`, and the unit's account. No Spark in here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pulsar_backlog.errors import DecodeError, SourceError
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.values import Fault, FrameBatch, ScanUnit
from pulsar_backlog.ledgers.walk import walk_unit
from pulsar_backlog.wire.columns import decode_frames

BATCH_ENTRIES = 32_768
"""Entries decoded at once: enough to hide the cost of a call, few enough to keep a worker small."""

STRUCTURE_ENTRY_ID = -1


@dataclass(frozen=True)
class UnitAccount:
    """What one unit's scan saw. Accounts of a copy add up to its row in `scans`.

    Attributes:
        frames: entries walked over.
        decoded: of them, decoded.
        rejected: of them, rejected.
        faults: structure faults.
        order_faults: entries whose stored id is not the previous id + 1.
        entry_bytes: bytes of the entries walked over.
        valid: entries whose checksum agrees.
        mismatch: entries whose checksum does not.
        absent: entries without checksum.
        unreadable: why the unit could not be read to its end, or None.
    """

    frames: int = 0
    decoded: int = 0
    rejected: int = 0
    faults: int = 0
    order_faults: int = 0
    entry_bytes: int = 0
    valid: int = 0
    mismatch: int = 0
    absent: int = 0
    unreadable: str | None = None

    def __add__(self, other: UnitAccount) -> UnitAccount:
        """Both accounts together."""
        return UnitAccount(
            self.frames + other.frames,
            self.decoded + other.decoded,
            self.rejected + other.rejected,
            self.faults + other.faults,
            self.order_faults + other.order_faults,
            self.entry_bytes + other.entry_bytes,
            self.valid + other.valid,
            self.mismatch + other.mismatch,
            self.absent + other.absent,
            self.unreadable or other.unreadable,
        )


@dataclass(frozen=True)
class Piece:
    """A part of a unit's scan: at most `BATCH_ENTRIES` entries, what was rejected, and the account of both."""

    batches: list[pa.RecordBatch]
    rejects: list[dict[str, Any]]
    account: UnitAccount


def scan_unit(source: Source, unit: ScanUnit, cluster: str, schema: pa.Schema) -> Iterator[Piece]:
    """Read a unit piece by piece; `schema` is that of `entries`. An unreadable unit ends with an account saying so."""
    try:
        for frames in walk_unit(source, unit):
            yield _fault_piece(frames.faults, unit, cluster)
            for start in range(0, len(frames.entry_id), BATCH_ENTRIES):
                yield _entry_piece(frames, slice(start, start + BATCH_ENTRIES), unit, cluster, schema)
    except SourceError as error:
        yield Piece([], [], UnitAccount(unreadable=error.reason))


def _fault_piece(faults: tuple[Fault, ...], unit: ScanUnit, cluster: str) -> Piece:
    rows = [_fault_row(fault, unit, cluster) for fault in faults]
    out_of_order = sum(fault.code == "entry_id_out_of_order" for fault in faults)
    return Piece([], rows, UnitAccount(faults=len(faults), order_faults=out_of_order))


def _entry_piece(frames: FrameBatch, part: slice, unit: ScanUnit, cluster: str, schema: pa.Schema) -> Piece:
    entry_id, offset, length = frames.entry_id[part], frames.offset[part], frames.length[part]
    decoded = decode_frames(frames.buffer, offset, length)
    batches = []
    if len(decoded.plain):
        columns = decoded.columns
        columns["entry_id"] = pa.array(entry_id[decoded.plain])
        columns["offset"] = pa.array(offset[decoded.plain] + frames.base)
        batches.append(_batch(columns, len(decoded.plain), unit, cluster, schema))
    if decoded.rows:
        places = {"cluster": cluster, "topic": unit.topic, "ledger_id": unit.ledger_id, "uri": unit.path}
        rows = [
            {**row, **places, "entry_id": int(entry_id[i]), "offset": int(offset[i]) + frames.base}
            for i, row in decoded.rows
        ]
        batches.append(pa.RecordBatch.from_pylist(rows, schema=schema))
    rejects = [
        _reject_row(error, int(entry_id[i]), int(offset[i]) + frames.base, int(length[i]), unit, cluster)
        for i, error in decoded.errors
    ]
    return Piece(batches, rejects, _account(batches, len(rejects), int(length.sum())))


def _batch(columns: dict[str, pa.Array], n: int, unit: ScanUnit, cluster: str, schema: pa.Schema) -> pa.RecordBatch:
    """The columns in the schema's order; what is the same for all is filled in, what is absent is null."""
    constants = {"cluster": cluster, "topic": unit.topic, "ledger_id": unit.ledger_id, "uri": unit.path}
    arrays = []
    for field in schema:
        if field.name in columns:
            arrays.append(columns[field.name])
        elif constants.get(field.name) is not None:
            arrays.append(pa.repeat(pa.scalar(constants[field.name], field.type), n))
        else:
            arrays.append(pa.nulls(n, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _account(batches: list[pa.RecordBatch], rejected: int, entry_bytes: int) -> UnitAccount:
    decoded = sum(batch.num_rows for batch in batches)
    states = {"valid": 0, "mismatch": 0, "absent": 0}
    for batch in batches:
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


def _reject_row(
    error: DecodeError, entry_id: int, offset: int, length: int, unit: ScanUnit, cluster: str
) -> dict[str, Any]:
    return {
        "cluster": cluster,
        "topic": unit.topic,
        "ledger_id": unit.ledger_id,
        "entry_id": entry_id,
        "scope": "entry",
        "code": error.code,
        "uri": unit.path,
        "offset": offset + error.offset,
        "entry_offset": offset,
        "length": length,
        "field": error.field,
        "expected": error.expected,
        "found": error.found,
        "first_bytes": error.context,
    }


def _fault_row(fault: Fault, unit: ScanUnit, cluster: str) -> dict[str, Any]:
    return {
        "cluster": cluster,
        "topic": unit.topic,
        "ledger_id": unit.ledger_id,
        "entry_id": STRUCTURE_ENTRY_ID,
        "scope": "structure",
        "code": fault.code,
        "uri": unit.path,
        "offset": fault.offset,
        "entry_offset": fault.entry_offset,
        "length": fault.length,
        "field": fault.field,
        "expected": fault.expected,
        "found": fault.found,
        "first_bytes": fault.first_bytes,
    }
