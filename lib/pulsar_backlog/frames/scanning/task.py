"""What a task of the scan does, whoever runs it: units in, files or Arrow batches out, accounts on the side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pulsar_backlog.ledgers.read_on import read_on
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.values import UNIT_BYTES, ScanUnit
from pulsar_backlog.output.data_files import Place, write_data_files
from pulsar_backlog.scanning.accounts import Accounts, UnitAccount, unit_key
from pulsar_backlog.scanning.fact_runs import ROW_TABLES, Runs, with_facts
from pulsar_backlog.scanning.unit import scan_unit
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema, task_schema

MAX_PACK_UNITS = 256
"""Units of one task at most: thousands of tiny ledgers still spread over the executors."""
MAX_PACK_BYTES = 512 * 1024 * 1024
"""Bytes of one task at most: progress comes task by task."""
TASKS_PER_CORE = 4
"""Tasks aimed at for each core: a Spark worker spends about 0.1 s on a task before its first byte."""

SCAN_TABLES = ("entries", *ROW_TABLES, "rejects")
"""Tables that tasks of a scan write. `entries` comes first, as its rows do."""


def unit_bytes(unit: ScanUnit) -> int:
    """Bytes of the data object that the unit covers."""
    return sum(block.length for block in unit.blocks)


def pack_units(units: Sequence[ScanUnit], cores: int) -> list[tuple[ScanUnit, ...]]:
    """Units bundled for one task each: enough tasks for all cores, none smaller than a unit needs to be."""
    fair_share = sum(map(unit_bytes, units)) // (cores * TASKS_PER_CORE)
    limit = min(max(fair_share, UNIT_BYTES), MAX_PACK_BYTES)
    packs: list[tuple[ScanUnit, ...]] = []
    pack: list[ScanUnit] = []
    size = 0
    for unit in units:
        if pack and (size + unit_bytes(unit) > limit or len(pack) == MAX_PACK_UNITS):
            packs.append(tuple(pack))
            pack, size = [], 0
        pack.append(unit)
        size += unit_bytes(unit)
    return [*packs, tuple(pack)] if pack else packs


@dataclass(frozen=True)
class ScanResult:
    """What a task tells of its units.

    Attributes:
        files: it wrote, rows of `FILES_DDL`.
        accounts: of the units.
        runs: facts of what it saw of ledgers.
    """

    files: list[Any]
    accounts: Accounts
    runs: Runs

    def add(self, other: ScanResult) -> None:
        """Take what another task tells too."""
        self.files.extend(other.files)
        self.accounts.update(other.accounts)
        self.runs.update(other.runs)


@dataclass(frozen=True)
class ScanTask:
    """What a task does that writes files, whoever runs it.

    Attributes:
        source: where the ledgers lie.
        cluster: name of the cluster.
        places: where files go, for each of `SCAN_TABLES`.
    """

    source: Source
    cluster: str
    places: Mapping[str, Place]

    def __call__(self, units: Sequence[ScanUnit]) -> ScanResult:
        """Scan units, in a process of this machine."""
        result = ScanResult([], {}, {})
        for batch in self.write(units, result.accounts.update, result.runs.update):
            result.files.extend(batch.to_pylist())
        return result

    def write(
        self, units: Iterable[ScanUnit], add_account: Callable[[Accounts], None], add_run: Callable[[Runs], None]
    ) -> Iterator[pa.RecordBatch]:
        """Write what units hold, and its facts, into a file for each table: rows of `FILES_DDL`."""
        tables = {name: (self.places[name], task_schema(TABLES[name]), TABLES[name]) for name in SCAN_TABLES}
        rows = scanned(self.source, self.cluster, units, add_account, tables["entries"][1])
        yield from write_data_files(with_facts(rows, self.cluster, add_run), tables)


def scanned(
    source: Source, cluster: str, units: Iterable[ScanUnit], add_account: Callable[[Accounts], None], schema: pa.Schema
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Rows of `entries`, by `schema`, and `rejects` of units, with their table's name; accounts on the side."""
    rejects_schema = arrow_schema(TABLES["rejects"])
    units = tuple(units)  # of one task, `MAX_PACK_UNITS` at most
    source = read_on(source, units)
    for unit in units:
        account = UnitAccount()
        for piece in scan_unit(source, unit, cluster, schema):
            account += piece.account
            if piece.rejects:
                yield "rejects", pa.RecordBatch.from_pylist(piece.rejects, schema=rejects_schema)
            if piece.batch is not None:
                yield "entries", piece.batch
        add_account({unit_key(unit): account})
