"""Audits and single jobs run inside the test's process, as the command line runs them."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pulsar_backlog.config import job_argv, load_pipelines

DATA = Path(__file__).parent / "data"
OBJECTS = DATA / "backlog" / "objects"
ADMIN = DATA / "backlog" / "admin"
EXPECTED = DATA / "backlog" / "expected"
SESSION = {
    "spark.sql.shuffle.partitions": "2",
    # Most of what a short run takes is the JVM compiling; one tier of compilers is a third less of it. Alone it has
    # 48 MiB for compiled code: the tests need more, and it would compile again what it threw away. The heap's young
    # part would be collected six times a second.
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -Xmn384m",
}
"""What a session of tests is started with."""


@dataclass(frozen=True)
class Audited:
    """How an audit ended, what it said, and where it left its tables."""

    exit_code: int
    stdout: str
    stderr: str
    out: Path
    source: str

    @cached_property
    def result(self) -> dict[str, Any]:
        """result.json."""
        return dict(json.loads((self.out / "result.json").read_text()))

    def rows(self, table: str, *columns: str) -> list[dict[str, Any]]:
        """Rows of a table, read with delta-rs, which is not what wrote them; in the order of the key."""
        return rows_of(self.out, table, *columns)

    def codes(self) -> dict[str, list[str]]:
        """Findings: subjects by code."""
        found: dict[str, list[str]] = {}
        for row in self.rows("findings", "code", "subject"):
            found.setdefault(row["code"], []).append(row["subject"])
        return {code: sorted(subjects) for code, subjects in found.items()}


def rows_of(out: Path, table: str, *columns: str) -> list[dict[str, Any]]:
    """Rows of a table in `out`, in the order of its key."""
    from deltalake import DeltaTable

    from pulsar_backlog.tables import TABLES

    key = [(name, "ascending") for name in TABLES[table].key]
    arrow = DeltaTable(out / "tables" / table).to_pyarrow_table().sort_by(key)
    return list((arrow.select(columns) if columns else arrow).to_pylist(maps_as_pydicts="strict"))


def version_of(out: Path, table: str) -> int:
    """The table's Delta version."""
    from deltalake import DeltaTable

    return DeltaTable(out / "tables" / table).version()


def run_audit(source: Path | str, out: Path, **options: Any) -> Audited:
    """`pulsar-backlog audit`, without the parsing of its command line."""
    from pulsar_backlog.commands.audit import run_pipeline

    given = _given(source, out, options)
    return _heard(lambda: run_pipeline(load_pipelines().get("audit"), given), given)


def run_one(job: str, source: Path | str, out: Path, **options: Any) -> Audited:
    """One job of the audit."""
    return run_job_of("audit", job, source, out, **options)


def run_job_of(pipeline: str, job: str, source: Path | str, out: Path, **options: Any) -> Audited:
    """One job of a pipeline."""
    from pulsar_backlog.jobfiles import load_job

    given = _given(source, out, options)
    argv = job_argv(load_pipelines().get(pipeline), job, given)
    return _heard(lambda: load_job(job).main(argv), given)


def run_scan(source: Path | str, out: Path, **options: Any) -> Audited:
    """Inventory and scan: what `entries` needs. The scan's exit code."""
    run_one("inventory_ledgers", source, out, **options)
    return run_one("scan_entries", source, out, **options)


def copy_ledgers(folder: Path, ledgers: Iterable[int]) -> Path:
    """A folder that holds these ledgers of the bundled backlog."""
    folder.mkdir(parents=True, exist_ok=True)
    for ledger_id in ledgers:
        for path in OBJECTS.glob(f"*-ledger-{ledger_id}*"):
            if path.name.split("-ledger-")[1].removesuffix("-index") == str(ledger_id):
                shutil.copy(path, folder)
    return folder


def data_object(folder: Path, ledger_id: int) -> Path:
    """The data object of a ledger in a folder."""
    (found,) = folder.glob(f"*-ledger-{ledger_id}")
    return found


def index_object(folder: Path, ledger_id: int) -> Path:
    """The index object of a ledger in a folder."""
    (found,) = folder.glob(f"*-ledger-{ledger_id}-index")
    return found


def _given(source: Path | str, out: Path, options: dict[str, Any]) -> dict[str, Any]:
    plain = {name: str(value) if isinstance(value, Path) else value for name, value in options.items()}
    return {"source": str(source), "out": str(out), **plain}


def _heard(run: Any, given: dict[str, Any]) -> Audited:
    stdout, stderr = io.StringIO(), io.StringIO()
    with redirect_stdout(stdout), redirect_stderr(stderr):
        code = run()
    return Audited(code, stdout.getvalue(), stderr.getvalue(), Path(given["out"]), given["source"])
