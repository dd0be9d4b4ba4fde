"""A ledger closed under its writer on three real bookies: what the audit calls confirmed, the writer was told."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tests.auditing import rows_of, run_one
from tests.broker.distribution import broker_home
from tests.ports import free_ports

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = Path(__file__).with_name("CutOffLedger.java")


def test_certain_is_what_the_writer_was_told(spark: SparkSession, tmp_path: Path) -> None:
    scratch, source, admin = tmp_path / "scratch", tmp_path / "source", tmp_path / "admin"
    for folder in (scratch, source, admin):
        folder.mkdir()
    lines = [line.split("\t") for line in ran(scratch, source).splitlines()]
    ((ledger_id, recorded, confirmed, last),) = [line[1:] for line in lines if line[0] == "ledger"]
    nodes = {line[1]: {"b64": line[2], "mtime": int(line[3])} for line in lines if line[0] == "node"}
    (admin / "metadata-store.json").write_text(json.dumps(nodes))
    for job in ("inventory_ledgers", "scan_entries", "decode_internals"):
        assert run_one(job, source, tmp_path / "out", admin=admin).exit_code in (0, 1, 4)
    rows = [row for row in rows_of(tmp_path / "out", "cut_off_entries") if row["ledger_id"] == int(ledger_id)]
    told = set(range(int(recorded), int(confirmed)))
    assert {row["entry_id"] for row in rows if row["grade"] != "cannot_tell"} == told
    assert last == "failed"
    assert {row["entry_id"] for row in rows if row["grade"] == "cannot_tell"} == {int(confirmed)}


def ran(scratch: Path, source: Path) -> str:
    """What the program prints."""
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    command = [
        str(java), "-Xmx700m", f"-Djava.io.tmpdir={scratch}", "--add-opens", "java.base/java.lang=ALL-UNNAMED",
        "-cp", f"{broker_home()}/lib/*", str(PROGRAM), str(*free_ports(1)), str(scratch), str(source),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
