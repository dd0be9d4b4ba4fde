"""--topic, --ledger, --since, --until, --cluster: what is left out, and what stays untouched."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from tests.auditing import Audited, copy_ledgers, run_audit, run_one, run_scan

NEEDS_SPARK = True


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_ledgers(tmp_path_factory.mktemp("choices"), [22, 24, 267, 292])


def scanned(audited: Audited) -> list[int]:
    return [row["ledger_id"] for row in audited.rows("scans", "ledger_id")]


@pytest.mark.parametrize(
    ("options", "ledgers"),
    [
        ({"topic": ["*/brk-*"]}, [22, 24]),
        ({"ledger": ["23-267"]}, [24, 267]),
        # ledgers were created between 10:57:50 and 10:58:31 UTC; 22 and 24 in the first seconds
        ({"until": "CREATED_267"}, [22, 24]),
        ({"since": "2000-01-01", "until": "2100-01-01"}, [22, 24, 267, 292]),
    ],
)
def test_what_is_chosen_is_scanned(
    options: dict[str, Any], ledgers: list[int], spark: SparkSession, source: Path, tmp_path: Path
) -> None:
    if options.get("until") == "CREATED_267":
        options = {"until": created(source, tmp_path / "look", 267)}
    audited = run_scan(source, tmp_path / "out", **options)
    assert audited.exit_code == 0, audited.stderr
    assert scanned(audited) == ledgers
    assert [row["ledger_id"] for row in audited.rows("ledgers", "ledger_id")] == ledgers


def created(source: Path, out: Path, ledger_id: int) -> str:
    rows = run_one("inventory_ledgers", source, out).rows("ledgers", "ledger_id", "created_time")
    (time,) = [row["created_time"] for row in rows if row["ledger_id"] == ledger_id]
    return str(time.isoformat())


def test_a_choice_that_holds_nothing_is_told(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    audited = run_audit(source, tmp_path / "out", until="2001-01-01")
    assert audited.exit_code == 1
    assert audited.codes() == {"S01": ["options"]}
    before = audited.rows("runs")
    refused = run_audit(source, tmp_path / "out", topic=["no/such/topic"])  # as a first look can tell
    assert refused.exit_code == 2
    assert refused.rows("runs") == before


def test_two_clusters_in_one_folder_do_not_touch_each_other(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_scan(source, out, cluster="one", ledger=["22"])
    before = [
        row for row in run_scan(source, out, cluster="one", ledger=["22"]).rows("entries") if row["cluster"] == "one"
    ]
    both = run_scan(source, out, cluster="two", ledger=["22", "24"])
    assert [row for row in both.rows("entries") if row["cluster"] == "one"] == before
    assert {(row["cluster"], row["ledger_id"]) for row in both.rows("scans")} == {("one", 22), ("two", 22), ("two", 24)}
    assert run_scan(source, out, cluster="one", ledger=["22"]).exit_code == 99


def test_a_choice_leaves_what_was_found_about_other_ledgers(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "objects"
    shutil.copytree(source, folder)
    for ledger_id in (22, 24):  # cut their data objects short, and 24's further before the second look
        cut(folder, ledger_id, 100)
    run_one("inventory_ledgers", folder, tmp_path / "out")
    first = {row["ledger_id"]: row for row in findings_of_inventory(tmp_path / "out", spark)}
    assert {22, 24} <= first.keys()
    cut(folder, 24, 50)
    again = run_one("inventory_ledgers", folder, tmp_path / "out", ledger=["24"])
    assert again.exit_code == 1, again.stderr
    second = {row["ledger_id"]: row for row in findings_of_inventory(tmp_path / "out", spark)}
    assert second[22] == first[22]
    assert second[24] != first[24]


def cut(folder: Path, ledger_id: int, size: int) -> None:
    (path,) = folder.glob(f"*-ledger-{ledger_id}")
    os.truncate(path, size)


def findings_of_inventory(out: Path, spark: SparkSession) -> list[Row]:
    found = spark.read.format("delta").load(str(out / "tables" / "findings"))
    return found.filter("job = 'inventory_ledgers' AND ledger_id IS NOT NULL").collect()
