"""`maintain`, as command and as job: what goes, what stays, and that no kill loses anything."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from pulsar_backlog.tables import TABLES
from tests.auditing import ADMIN, OBJECTS, Audited, rows_of, run_audit, run_job_of
from tests.cli.typed import typed
from tests.jobs.killed_maintenance import maintained
from tests.places import held_elsewhere
from tests.small_tables import write_tables
from tests.tableio.test_maintenance import grow_old

NEEDS_SPARK = True

NOT_COMPARED = "runs"


def all_rows(out: Path) -> dict[str, list[dict[str, Any]]]:
    return {name: rows_of(out, name) for name in TABLES if (out / "tables" / name).is_dir() and name != NOT_COMPARED}


def listing(out: Path) -> dict[str, int]:
    """Every file but the lock, with its size."""
    return {str(path): path.stat().st_size for path in out.rglob("*") if path.is_file() and "lock" not in path.name}


def test_an_audit_is_kept_small_and_stays_what_it_is(bundled: Audited, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(bundled.out, out)
    grow_old(out, 24 * 9)
    before, verdict = all_rows(out), json.loads((out / "result.json").read_text())

    files = listing(out)
    dry = typed(f"pulsar-backlog maintain {out}")
    assert dry.code == 0, dry.stderr
    told = json.loads(dry.stdout)
    assert told["dry_run"] is True
    assert told["message"].startswith("This would be done: ")
    assert listing(out) == files, "a dry run changes nothing"

    with held_elsewhere(out):
        refused = typed(f"pulsar-backlog maintain {out} --yes")
    assert refused.code == 2
    assert "is being written to by another run: pulsar-backlog audit" in refused.stderr

    done = typed(f"pulsar-backlog maintain {out} --yes")
    assert done.code == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["tables"] == told["tables"], "what was foretold was done"
    freed = sum(table["freed_bytes"] for table in said["tables"])
    assert sum(files.values()) - sum(listing(out).values()) < freed, "checkpoints and the result take a little"
    assert f"{len(files) - len(listing(out).keys() & files.keys())} files that nobody reads" in said["message"]
    result = json.loads((out / "result.json").read_text())
    assert result.pop("maintenance")["tables"] == said["tables"]
    assert result == verdict
    assert all_rows(out) == before

    assert run_job_of("maintain", "maintain_tables", OBJECTS, out, cluster="demo").exit_code == 99
    assert run_audit(OBJECTS, out, admin=ADMIN, cluster="demo").exit_code == bundled.exit_code
    assert all_rows(out) == before


def test_whose_tables_they_are_must_be_plain(tmp_path: Path) -> None:
    write_tables(tmp_path, runs=[{"cluster": "c"}, {"cluster": "d"}])
    refused = typed(f"pulsar-backlog maintain {tmp_path}")
    assert refused.code == 2
    assert "several clusters: name one with --cluster" in refused.stderr
    for bound in ("--retention-hours 1", "--keep-days 0"):
        assert typed(f"pulsar-backlog maintain {tmp_path} --cluster c {bound}").code == 2
    assert typed(f"pulsar-backlog maintain {tmp_path / 'none'}").code == 2


def test_killed_at_any_step_nothing_is_lost(tmp_path: Path) -> None:
    template = history(tmp_path / "template")
    env = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    program = [sys.executable, "-m", "tests.jobs.killed_maintenance", template, tmp_path / "copies"]
    subprocess.run(program, env=env, check=True, capture_output=True, timeout=300)
    copies = sorted((tmp_path / "copies").iterdir(), key=lambda path: int(path.name))
    whole = copies[-1]
    assert len(copies) == 10, "it was killed at each of its steps"
    gone = losses(template, whole)
    assert gone == {"scans": {1}, "rejects": {1}, "gone_ledgers": {1}}
    for out in copies[:-1]:
        assert all(ledgers <= gone[name] for name, ledgers in losses(template, out).items()), out.name
        maintained(out)
        for name in TABLES_OF_IT:
            assert rows_of(out, name) == rows_of(whole, name), out.name
            assert len(DeltaTable(out / "tables" / name).file_uris()) == 1


TABLES_OF_IT = ("scans", "rejects", "gone_ledgers", "findings")


def history(out: Path) -> Path:
    """Tables of a ledger that is long gone, one that went lately and one that is there, in many files and commits."""
    now = datetime.now(UTC)
    for number, ledger_id in enumerate((1, 2, 3, 3, 3)):
        write_tables(
            out,
            scans=[{"cluster": "c", "ledger_id": ledger_id, "copy": f"u{number}"}],
            rejects=[{"cluster": "c", "ledger_id": ledger_id, "entry_id": number}],
            findings=[{"cluster": "c", "ledger_id": 3, "code": f"C0{number}"}],
        )
    ages = {1: 91, 2: 89}
    gone = [{"cluster": "c", "ledger_id": one, "gone_time": now - timedelta(days=age)} for one, age in ages.items()]
    write_tables(out, gone_ledgers=gone)
    (out / "tables" / "scans" / "part-of-a-killed-run.zstd.parquet").write_bytes(b"rows")
    grow_old(out, 24 * 9)
    return out


def losses(before: Path, after: Path) -> dict[str, set[int]]:
    """Ledgers of which a table lost rows."""
    rows = {name: [one for one in rows_of(before, name) if one not in rows_of(after, name)] for name in TABLES_OF_IT}
    return {name: {one["ledger_id"] for one in lost} for name, lost in rows.items() if lost}
