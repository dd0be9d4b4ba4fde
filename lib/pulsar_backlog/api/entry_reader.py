"""Rows of `entries` in one pass over ledgers, decoded as the scan decodes them. No Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.api.wanted import Wanted
from pulsar_backlog.errors import DecodeError, SourceError
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.values import LedgerCopy, ScanUnit
from pulsar_backlog.scanning.unit import Piece, scan_unit
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema

SCHEMA = arrow_schema(TABLES["entries"])


def entry_batches(
    source: Source, copies: Sequence[LedgerCopy], cluster: str, wanted: Wanted, *, failfast: bool
) -> Iterator[pa.RecordBatch]:
    """Wanted entries of ledgers, in order.

    Raises:
        SourceError: a ledger cannot be read to its end; what was read before has been given out.
        DecodeError: with `failfast`, an entry cannot be decoded, or something is wrong around one.
    """
    for unit in (unit for copy in copies for unit in wanted.units(copy)):
        yield from unit_entries(source, unit, cluster, wanted, failfast=failfast)


def unit_entries(
    source: Source, unit: ScanUnit, cluster: str, wanted: Wanted, *, failfast: bool
) -> Iterator[pa.RecordBatch]:
    """The same of one scan unit."""
    unreadable: str | None = None
    for piece in scan_unit(source, unit, cluster, SCHEMA):
        unreadable = unreadable or piece.account.unreadable
        if failfast and piece.rejects:
            raise _error(piece.rejects[0])
        yield from _rows(piece, wanted)
    if unreadable is not None:
        raise SourceError(unit.path, "failed", unreadable)


def _rows(piece: Piece, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    if piece.batch is not None:
        mask = pc.and_(wanted.entries(piece.batch), wanted.with_key(piece.batch))
        # To choose all is to copy all, a third of what reading takes.
        yield piece.batch if mask.true_count == len(mask) else piece.batch.filter(mask)


def _error(reject: dict[str, Any]) -> DecodeError:
    place = f"{reject['found']} at {reject['ledger_id']}:{reject['entry_id']}"
    return DecodeError(
        reject["code"], offset=reject["offset"], field=reject["field"], expected=reject["expected"], found=place,
        context=reject["first_bytes"] or b"",
    )  # fmt: skip
