"""A ledger closed under its writer, on three real bookies: `certain` is what the writer was told."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.auditing import DATA, rows_of, run_one

NEEDS_SPARK = True

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CUT_OFF = DATA / "cut-off"
TOPIC = "persistent://lab/cut/orders"


def audited(source: Path, out: Path) -> list[dict[str, Any]]:
    for job in ("inventory_ledgers", "scan_entries", "decode_internals"):
        assert run_one(job, source, out, admin=CUT_OFF / "admin").exit_code in (0, 1, 4)
    return rows_of(out, "cut_off_entries")


def test_what_the_writer_was_told(spark: SparkSession, tmp_path: Path) -> None:
    rows = audited(CUT_OFF / "source", tmp_path)
    assert [(row["entry_id"], row["grade"], row["bookies"]) for row in rows] == [
        *((entry, "certain", 3) for entry in range(4, 9)),
        (9, "cannot_tell", 1),
    ]
    assert {(row["topic"], row["end_entries"], row["ack_quorum"], row["producer_name"]) for row in rows} == {
        (TOPIC, 4, 2, "cut"),
    }  # fmt: skip
    assert [row["sequence_id"] for row in rows] == list(range(4, 10))
    assert [row["entry_id"] for row in rows_of(tmp_path, "entries", "entry_id")] == [0, 1, 2, 3]
    (finding,) = [row for row in rows_of(tmp_path, "findings") if row["code"] == "S69"]
    assert (finding["topic"], finding["count"], finding["sureness"]) == (TOPIC, 5, "certain")


def test_without_the_bookie_that_got_the_last_entry(spark: SparkSession, tmp_path: Path) -> None:
    """No later entry names entry 8; two bookies have it, which is the ack quorum."""
    source = tmp_path / "source"
    for name in ("bookie2", "bookie3"):
        shutil.copytree(CUT_OFF / "source" / name, source / name)
    rows = audited(source, tmp_path / "out")
    assert [(row["entry_id"], row["grade"], row["bookies"]) for row in rows] == [
        *((entry, "certain", 2) for entry in range(4, 8)),
        (8, "likely", 2),
    ]


def test_of_one_bookie(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(CUT_OFF / "source" / "bookie2", source / "bookie2")
    rows = audited(source, tmp_path / "out")
    assert [(row["entry_id"], row["grade"]) for row in rows] == [
        *((entry, "certain") for entry in range(4, 8)),
        (8, "cannot_tell"),
    ]
