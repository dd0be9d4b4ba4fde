"""Everything a scan of a source gives, without Spark."""

from __future__ import annotations

from typing import Any

from pulsar_backlog.ledgers.inventory import take_inventory
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.scanning.accounts import UnitAccount
from pulsar_backlog.scanning.unit import scan_unit
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema

Row = dict[str, Any]


def scanned(source: Source) -> tuple[dict[int, list[Row]], list[Row], UnitAccount]:
    """Rows of `entries` by ledger, rows of `rejects`, and the account of all."""
    found: dict[int, list[Row]] = {}
    rejects: list[Row] = []
    account = UnitAccount()
    for copy in take_inventory(source).copies:
        for unit in units_of(copy):
            for piece in scan_unit(source, unit, "lab", arrow_schema(TABLES["entries"])):
                rows = piece.batch.to_pylist() if piece.batch else []
                found.setdefault(copy.ledger_id, []).extend(rows)
                rejects += piece.rejects
                account += piece.account
    return found, rejects, account
