"""What a task of the scan does, whoever runs it: units in, files or Arrow batches out, accounts on the side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pulsar_backlog.ledgers.read_on import read_on
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.values import ScanUnit
from pulsar_backlog.output.data_files import Place, write_data_files
from pulsar_backlog.scanning.accounts import Accounts, UnitAccount, unit_key
from pulsar_backlog.scanning.fact_runs import ROW_TABLES, Runs, with_facts
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema, task_schema

SCAN_TABLES = ("entries", *ROW_TABLES, "rejects")
"""Tables that tasks of a scan write. `entries` comes first, as its rows do."""


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
    from pulsar_backlog.scanning.unit import scan_unit  # noqa: PLC0415 - numba: who sends the task does without

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
