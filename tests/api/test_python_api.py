"""The Python API without Spark: its rows are those of an audit and of an export, and its errors are ours."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import duckdb
import pyarrow as pa
import pytest

import pulsar_backlog
from pulsar_backlog.errors import BacklogError, DecodeError, RunError, UsageError
from pulsar_backlog.messages import batch_members
from pulsar_backlog.messages.batch_members import BatchMembers
from tests.auditing import ADMIN, DATA, OBJECTS, Audited
from tests.jobs.test_export_messages import KEYS, audited, exported  # noqa: F401 - fixtures

NEEDS_SPARK = True

Key = tuple[int, int, int]
SAME = (
    "state", "outcome", "payload_sha256", "payload_bytes", "topic", "producer_name", "sequence_id", "publish_time_ms",
    "partition_key", "properties", "index", "event_time", "num_chunks", "chunk_uuid", "batch_size", "transaction",
    "first_ledger_id", "first_entry_id", "encryption_key_names", "compression", "positions", "verified", "reason",
)  # fmt: skip


def by_id(rows: list[dict[str, Any]]) -> dict[Key, dict[str, Any]]:
    keyed = {(row["ledger_id"], row["entry_id"], row["batch_index"]): row for row in rows}
    assert len(keyed) == len(rows)  # each message once
    return keyed


def plain(reader: pa.RecordBatchReader) -> list[dict[str, Any]]:
    """Rows as delta-rs gives them: maps as dictionaries."""
    rows: list[dict[str, Any]] = reader.read_all().to_pylist()
    for row in rows:
        row["properties"] = None if row["properties"] is None else dict(row["properties"])
        for key in row.get("encryption_keys") or ():
            key["metadata"] = None if key["metadata"] is None else dict(key["metadata"])
    return rows


def differences(row: dict[str, Any], other: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    return [(name, row[name], other[name]) for name in row.keys() | other.keys() if row[name] != other[name]]


@pytest.fixture(scope="module")
def backlog() -> pulsar_backlog.Backlog:
    return pulsar_backlog.open(str(OBJECTS), admin=str(ADMIN))


def test_import_brings_neither_spark_nor_arrow() -> None:
    code = "import sys, pulsar_backlog; sys.exit(bool({'pyspark', 'pyarrow', 'duckdb'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_reading_brings_no_spark() -> None:
    code = (
        f"import sys, pulsar_backlog; pulsar_backlog.open({str(OBJECTS)!r}).messages('*chunk-lz4').read_all(); "
        "sys.exit(bool({'pyspark', 'delta', 'duckdb'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_entries_are_those_of_an_audit(backlog: pulsar_backlog.Backlog, bundled: Audited) -> None:
    found = plain(backlog.entries())
    found.sort(key=lambda row: (row["ledger_id"], row["entry_id"]))
    cluster = {row.pop("cluster") for row in found}
    known = bundled.rows("entries")
    for row in known:
        row.pop("cluster")
    assert cluster == {"default"}
    known.sort(key=lambda row: (row["ledger_id"], row["entry_id"]))
    assert len(found) == len(known)
    assert [pair for row, other in zip(found, known, strict=True) for pair in differences(row, other)] == []


def test_ledgers_are_those_of_an_audit(backlog: pulsar_backlog.Backlog, bundled: Audited) -> None:
    names = ("topic", "ledger_id", "copy", "kind", "data_uri", "selected", "status")
    found = backlog.ledgers().read_all().select(names).to_pylist()
    assert sorted(map(str, found)) == sorted(map(str, bundled.rows("ledgers", *names)))
    assert backlog.topics() == sorted({row["topic"] for row in found if row["topic"]})


def test_messages_are_those_of_an_export(audited: tuple[Path, Path], exported: dict[Key, dict[str, Any]]) -> None:  # noqa: F811
    source, _ = audited
    found = by_id(plain(pulsar_backlog.open(str(source), private_keys=str(KEYS)).messages()))
    undecodable = {key for key in found.keys() - exported.keys() if found[key]["producer_name"] is None}
    assert found.keys() - undecodable == exported.keys()
    for key, row in exported.items():
        assert [one for one in differences(found[key], row) if one[0] in SAME] == []


def test_filters_choose_what_they_say(backlog: pulsar_backlog.Backlog) -> None:
    every = backlog.messages().read_all().to_pylist()
    moment = sorted(row["publish_time"] for row in every)[len(every) // 2]
    late = backlog.messages(since=moment).read_all().to_pylist()
    early = backlog.messages(until=moment.isoformat()).read_all().to_pylist()
    assert by_id(late).keys() | by_id(early).keys() == by_id(every).keys()
    assert min(row["publish_time"] for row in late) == moment > max(row["publish_time"] for row in early)
    keys = {row["partition_key"] for row in every if row["partition_key"] and not row["partition_key_b64_encoded"]}
    key = sorted(keys)[0]
    with_key = [row for row in backlog.messages(key=key).read_all().to_pylist() if row["outcome"] == "exported"]
    assert {row["partition_key"] for row in with_key} == {key}
    producer = every[0]["producer_name"]
    assert {row["producer_name"] for row in backlog.messages(producer=producer).read_all().to_pylist()} == {producer}


def test_positions_are_half_open(backlog: pulsar_backlog.Backlog) -> None:
    topic = "persistent://lab/s3/chunk-lz4"
    every = [(row["ledger_id"], row["entry_id"]) for row in backlog.entries(topic).read_all().to_pylist()]
    start, end = every[2], every[7]
    found = backlog.entries(topic, start=f"{start[0]}:{start[1]}", end=f"{end[0]}:{end[1]}", columns=["entry_id"])
    assert found.schema.names == ["entry_id"]
    assert found.read_all().column("entry_id").to_pylist() == [entry for _, entry in every[2:7]]


def test_a_message_is_in_the_ledger_of_its_last_chunk() -> None:
    backlog = pulsar_backlog.open(str(DATA / "mapfiles"))
    every = backlog.messages().read_all().to_pylist()
    one = next(row for row in every if row["first_ledger_id"] not in (None, row["ledger_id"]))
    found = backlog.messages(ledgers=[one["ledger_id"]]).read_all().to_pylist()
    assert by_id(found) == by_id([row for row in every if row["ledger_id"] == one["ledger_id"]])
    first = backlog.messages(ledgers=[one["first_ledger_id"]]).read_all().to_pylist()
    assert by_id(first) == by_id([row for row in every if row["ledger_id"] == one["first_ledger_id"]])


def test_broken_messages_by_mode(backlog: pulsar_backlog.Backlog) -> None:
    rows = backlog.messages().read_all().to_pylist()
    broken = [row for row in rows if row["outcome"] not in ("exported", "wrong_size")]
    assert broken
    assert all(row["reason"] for row in broken)
    assert backlog.messages(mode="dropmalformed").read_all().num_rows == len(rows) - len(broken)
    with pytest.raises(DecodeError, match=f"{broken[0]['ledger_id']}:"):
        backlog.messages(broken[0]["topic"], mode="failfast").read_all()


@pytest.mark.parametrize("visible", ["committed", "stored"])
def test_some_columns_are_the_same_as_among_all(
    backlog: pulsar_backlog.Backlog, visible: Literal["committed", "stored"]
) -> None:
    every = backlog.messages(visible=visible).read_all()
    assert {"exported", "wrong_size"} <= set(every["outcome"].to_pylist())
    assert {"batch", "whole"} <= set(every["state"].to_pylist())
    for first in range(4):
        names = every.schema.names[first::4]
        assert backlog.messages(visible=visible, columns=names).read_all().equals(every.select(names)), names


def test_columns_that_are_not_asked_for_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[pa.Schema] = []
    taken = BatchMembers._taken
    monkeypatch.setattr(BatchMembers, "_taken", lambda one: made.append(one.schema) or taken(one))
    monkeypatch.setattr(batch_members, "hashlib", None)
    pulsar_backlog.open(str(OBJECTS)).messages(columns=["publish_time"]).read_all()
    assert made
    assert {tuple(schema.names) for schema in made} == {("ledger_id", "entry_id", "batch_index", "publish_time")}


def test_other_libraries_take_the_reader(backlog: pulsar_backlog.Backlog) -> None:
    reader = backlog.messages("*chunk-lz4", columns=["entry_id", "payload_bytes"])  # noqa: F841 - named in SQL
    count = len(backlog.messages("*chunk-lz4").read_all())
    assert duckdb.sql("SELECT count(*) FROM reader").fetchall() == [(count,)]


def test_explain(backlog: pulsar_backlog.Backlog) -> None:
    row = backlog.entries(columns=["ledger_id", "entry_id", "topic"]).read_next_batch().to_pylist()[0]
    assert backlog.explain(f"{row['ledger_id']}:{row['entry_id']}").topic == row["topic"]


def test_sql_gives_arrow(bundled: Audited) -> None:
    rows = pulsar_backlog.sql(
        str(bundled.out), "SELECT topic, count(*) AS n FROM entries GROUP BY topic ORDER BY topic"
    )
    assert isinstance(rows, pa.RecordBatchReader)
    assert rows.schema.field("n").type == pa.int64()
    assert sum(row["n"] for row in rows.read_all().to_pylist()) == len(bundled.rows("entries"))


def test_audit_runs_apart(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no option colour"):
        pulsar_backlog.audit(str(OBJECTS), str(tmp_path / "out"), colour="red")
    with pytest.raises(UsageError, match="is not a folder"):
        pulsar_backlog.audit(str(tmp_path / "nowhere"), str(tmp_path / "out"))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pulsar_backlog.open("/nowhere"), "is not a folder"),
        (lambda: pulsar_backlog.open(str(OBJECTS), colour="red"), "--colour: unknown"),
        (lambda: pulsar_backlog.open(str(OBJECTS)).messages("nobody"), "no topic .* matches nobody"),
        (lambda: pulsar_backlog.open(str(OBJECTS)).messages(columns=["colour"]), "no column colour"),
        (lambda: pulsar_backlog.open(str(OBJECTS)).entries(start="7"), "write LEDGER:ENTRY"),
        (lambda: pulsar_backlog.open(str(OBJECTS)).entries(since="soon"), "soon"),
        (lambda: pulsar_backlog.open(str(OBJECTS)).entries(since=datetime(2026, 1, 1)), "time zone"),
        (lambda: pulsar_backlog.open(str(OBJECTS)).messages(mode="lenient"), "none of permissive"),
    ],
)
def test_mistakes_are_usage_errors(call: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        call()
    assert issubclass(UsageError, BacklogError)
    assert issubclass(RunError, BacklogError)


def test_times_take_zones(backlog: pulsar_backlog.Backlog) -> None:
    assert backlog.messages(until=datetime(2001, 1, 1, tzinfo=UTC)).read_all().num_rows == 0
