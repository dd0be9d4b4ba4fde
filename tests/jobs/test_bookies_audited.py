"""Files of bookies through the jobs: tables, a second run, and what later steps make of ledgers in several files."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tests.auditing import DATA, rows_of, run_job_of, run_one, run_scan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BOOKIE = DATA / "bookies" / "source"


def test_two_bookies(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("bookie-1", "bookie-2"):
        shutil.copytree(BOOKIE, tmp_path / name)
    log = tmp_path / "bookie-1" / "current" / "0.log"
    damaged = bytearray(log.read_bytes())
    at = 31610 - 4 - 150  # in the payload of the last entry of ledger 5
    damaged[at + 100] ^= 1
    log.write_bytes(bytes(damaged))
    source, out = f"bookies://{tmp_path}/bookie-*", tmp_path / "out"
    scanned = run_scan(source, out, ledger="5-9")
    assert scanned.exit_code in (0, 1)
    rows = rows_of(out, "entries", "ledger_id", "entry_id", "uri", "checksum_state")
    assert [(row["ledger_id"], row["entry_id"]) for row in rows] == [(i, n) for i in (5, 9) for n in range(60)]
    assert {row["checksum_state"] for row in rows} == {"valid"}
    assert [row["uri"] for row in rows if row["uri"] != "bookie-1/current/0.log"] == ["bookie-2/current/0.log"]
    (reject,) = rows_of(out, "rejects", "ledger_id", "code", "uri", "offset")
    assert (reject["ledger_id"], reject["code"], reject["uri"]) == (5, "digest_mismatch", "bookie-1/current/0.log")
    ledgers = rows_of(out, "ledgers", "ledger_id", "kind", "blocks")
    assert {row["kind"] for row in ledgers} == {"bookies"}
    assert {block["uri"] for row in ledgers for block in row["blocks"]} == {
        "bookie-1/current/0.log", "bookie-2/current/0.log",
    }  # fmt: skip
    again = run_scan(source, out, ledger="5-9")
    assert len(rows_of(out, "entries", "ledger_id")) == 120
    assert again.exit_code != 2
    assert run_one("assemble_chunks", source, out).exit_code in (0, 1, 3)
    refused = run_job_of("export", "export_messages", source, out)
    assert refused.exit_code == 2
    assert "ledger 5 of an unknown topic lies in several files of bookies" in refused.stderr
