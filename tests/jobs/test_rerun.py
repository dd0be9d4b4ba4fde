"""Audits of one folder again and again: nothing twice, every change noticed, a killed scan continued."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.steps import scan_group
from tests.auditing import Audited, copy_ledgers, data_object, run_audit, run_one, run_scan, version_of
from tests.ledgers.encoding import offload
from tests.ledgers.sources import put
from tests.wire.encode import entry, number, run

NEEDS_SPARK = True

SCANNED = (
    "entries", "rejects", "scans", "ledger_facts", "producer_facts", "entry_spans", "noted_entries",
)  # fmt: skip
TABLES = (
    "ledgers", "inventory", *SCANNED, "chunked_messages", "chunks", "topic_stats", "consumer_outcomes",
    "client_forecasts", "quality_results", "findings", "runs",
)  # fmt: skip


def versions(out: Path) -> dict[str, int]:
    return {name: version_of(out, name) for name in TABLES}


def files(out: Path) -> set[Path]:
    return set((out / "tables" / "entries").glob("*.parquet"))


@pytest.fixture
def out(spark: SparkSession, tmp_path: Path) -> Path:
    return tmp_path / "out"


def test_a_second_audit_does_nothing_and_a_third_sees_what_changed(
    spark: SparkSession, out: Path, tmp_path: Path
) -> None:
    source = copy_ledgers(tmp_path / "objects", [267, 292])  # healthy ones
    spark.catalog.clearCache()  # of other tests
    first = run_audit(source, out)
    assert first.exit_code == 0
    assert cast(Any, spark)._jsparkSession.sharedState().cacheManager().isEmpty()  # nothing answers for a later audit
    before = versions(out)
    again = run_audit(source, out)
    assert again.exit_code == 99
    assert versions(out) == before
    assert again.result["exit_code"] == 0  # the files are those of the first audit
    assert run_audit(source, out, exit_zero_when_unchanged=True).exit_code == 0
    assert run_one("scan_entries", source, out).exit_code == 99

    data = data_object(source, 292)
    data.write_bytes(data.read_bytes()[:-100])
    others = {row["entry_id"] for row in first.rows("entries") if row["ledger_id"] == 267}
    changed = run_audit(source, out)
    assert changed.exit_code == 1
    (finding,) = [row for row in changed.rows("findings") if row["code"] == "S17"]
    assert (finding["ledger_id"], finding["subject"]) == (292, "ledger:292")
    assert "S17" in {told["code"] for told in changed.result["findings"]["by_code"]}
    (scan_run, *_) = sorted(
        (r for r in changed.rows("runs") if r["job"] == "scan_entries"), key=lambda r: r["started"], reverse=True
    )
    assert dict(scan_run["rows"])["scans"] == 1  # only the changed ledger was scanned
    assert [row["entry_id"] for row in changed.rows("entries") if row["ledger_id"] == 292] == list(range(10))
    assert {row["entry_id"] for row in changed.rows("entries") if row["ledger_id"] == 267} == others

    # findings of an earlier run still decide the exit code of an audit that has nothing new to do
    unchanged = versions(out)
    assert run_audit(source, out).exit_code == 1
    assert versions(out) == unchanged
    assert run_audit(source, out, fail_on="never").exit_code == 99


def chunk(chunk_id: int, payload: bytes) -> bytes:
    """Chunk of a message of three, 10 bytes each."""
    ours = run(26, b"p-0") + number(27, 3) + number(28, 30) + number(29, chunk_id)
    return entry(run(1, b"p") + number(2, 0) + number(3, 1_700_000_000_000) + number(9, 30) + ours, payload)


def publications(audited: Audited) -> list[tuple[Any, ...]]:
    columns = ("state", "flags", "ledgers", "first_ledger_id", "last_ledger_id", "missing_chunk_ids", "rebuildable")
    return [tuple(row.values()) for row in audited.rows("chunked_messages", *columns)]


def test_a_later_ledger_completes_a_message_of_an_earlier_run(out: Path, tmp_path: Path) -> None:
    source = tmp_path / "objects"
    put(source, offload([chunk(0, b"a" * 10), chunk(1, b"b" * 10)]), 7)
    run_scan(source, out)
    incomplete = run_one("assemble_chunks", source, out)
    assert publications(incomplete) == [("in_flight", [], [7], 7, 7, [2], False)]
    put(source, offload([entry(), chunk(2, b"c" * 10)]), 9)
    before = files(out)
    run_scan(source, out)
    assert before < files(out)  # what ledger 7 holds was not written again
    whole = run_one("assemble_chunks", source, out)
    assert publications(whole) == [("whole", ["ledger_span"], [7, 9], 7, 9, [], True)]
    roles = [(row["ledger_id"], row["entry_id"], row["role"]) for row in whole.rows("chunks")]
    assert roles == [(7, 0, "used"), (7, 1, "used"), (9, 1, "used")]
    (manifest,) = [row["manifest"] for row in whole.rows("chunked_messages")]
    joined = b"".join(
        data_object(source, part["ledger_id"]).read_bytes()[part["offset"] : part["offset"] + part["length"]]
        for part in manifest
    )
    assert joined == b"a" * 10 + b"b" * 10 + b"c" * 10


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of three ledgers."""
    return copy_ledgers(tmp_path_factory.mktemp("three") / "objects", [5, 22, 24])


@pytest.fixture(scope="module")
def undisturbed(spark: SparkSession, three: Path, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """What a scan of them gives that nothing stops, in groups of one ledger."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan_group, "GROUP_LEDGERS", 1)
        return run_scan(three, tmp_path_factory.mktemp("undisturbed") / "out")


@pytest.mark.parametrize("step", ["store_entries", "ledger_row", "copy_accounts", "scan_rows"])
def test_a_killed_scan_is_continued_and_ends_with_the_same_tables(
    step: str, out: Path, three: Path, undisturbed: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan_group, "GROUP_LEDGERS", 1)
    real, calls = getattr(scan_group, step), []

    def dies(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 2:
            raise RuntimeError("the machine went away")
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(scan_group, step, dies)
        died = run_scan(three, out)
    assert died.exit_code == 3
    assert "the machine went away" in died.stderr
    assert [row["ledger_id"] for row in died.rows("scans")] == [5]
    continued = run_one("scan_entries", three, out)
    assert continued.exit_code == 0
    (scan_run,) = [row for row in continued.rows("runs") if row["job"] == "scan_entries"]
    assert dict(scan_run["rows"])["scans"] == 2  # the first group stays as it is
    for name in SCANNED:
        assert continued.rows(name) == undisturbed.rows(name)
