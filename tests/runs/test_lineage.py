"""OpenLineage events, taken by a real HTTP server on loopback and held against what the specification asks for."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.runs.lineage import dataset_name, is_wanted
from pulsar_backlog.tables import TABLES
from tests.auditing import copy_ledgers, run_audit

BROKEN = 5
FACETS: dict[str, Any] = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "required": ["_producer", "_schemaURL"],
        "properties": {
            "_producer": {"type": "string", "format": "uri"},
            "_schemaURL": {"type": "string", "format": "uri"},
        },
    },
}
DATASETS: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["namespace", "name"],
        "properties": {
            "namespace": {"type": "string", "minLength": 1},
            "name": {"type": "string", "minLength": 1},
            **dict.fromkeys(("facets", "inputFacets", "outputFacets"), FACETS),
        },
    },
}
RUN_EVENT: dict[str, Any] = {
    "type": "object",
    "required": ["eventTime", "producer", "schemaURL", "eventType", "run", "job"],
    "properties": {
        "eventTime": {"type": "string", "format": "date-time"},
        "producer": {"type": "string", "format": "uri"},
        "schemaURL": {"type": "string", "pattern": r"/OpenLineage\.json#/\$defs/RunEvent$"},
        "eventType": {"enum": ["START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"]},
        "run": {
            "type": "object",
            "required": ["runId"],
            "properties": {"runId": {"type": "string", "format": "uuid"}, "facets": FACETS},
        },
        "job": {
            "type": "object",
            "required": ["namespace", "name"],
            "properties": {"namespace": {"type": "string"}, "name": {"type": "string"}, "facets": FACETS},
        },
        "inputs": DATASETS,
        "outputs": DATASETS,
    },
}
"""What the core of the specification (2-0-2) asks of a run event, in our words."""


class Receiver(ThreadingHTTPServer):
    """Takes events, as Marquez does."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.events: list[dict[str, Any]] = []
        self.keys: set[str | None] = set()


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        assert self.path == "/api/v1/lineage"
        self.server.keys.add(self.headers["Authorization"])
        self.server.events.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with Receiver() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("OPENLINEAGE_URL", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("OPENLINEAGE_API_KEY", "key-of-the-lineage")
        yield server
        server.shutdown()


def test_each_job_tells_that_it_starts_and_how_it_ended(
    spark: SparkSession, tmp_path: Path, receiver: Receiver
) -> None:
    source, out = copy_ledgers(tmp_path / "source", [BROKEN]), tmp_path / "out"
    audited = run_audit(source, out)
    assert "OpenLineage" not in audited.stderr
    for event in receiver.events:
        jsonschema.validate(event, RUN_EVENT, format_checker=jsonschema.FormatChecker())
    assert receiver.keys == {"Bearer key-of-the-lineage"}
    runs = {row["run_id"]: row for row in audited.rows("runs")}
    done = {one["job"]["name"]: one for one in receiver.events if one["eventType"] == "COMPLETE"}
    assert {one["run"]["runId"] for one in done.values()} >= set(runs), "under the ids that the table `runs` has"
    assert set(done) >= {f"default.{run['job']}" for run in runs.values()}
    for name in done:
        mine = [one["eventType"] for one in receiver.events if one["job"]["name"] == name]
        assert mine == ["START", "COMPLETE"]

    scan = done["default.scan_entries"]
    assert [(one["namespace"], one["name"]) for one in scan["inputs"]] == [("file", str(source))]
    entries = next(one for one in scan["outputs"] if one["name"] == f"{out}/tables/entries")
    assert entries["outputFacets"]["outputStatistics"]["rowCount"] == len(audited.rows("entries"))
    fields = [(one["name"], one["type"]) for one in entries["facets"]["schema"]["fields"]]
    assert fields == [(column.name, column.type) for column in TABLES["entries"].columns]

    rules = {
        one["name"]: one["success"]
        for dataset in done["default.check_quality"]["inputs"]
        for one in dataset.get("inputFacets", {}).get("dataQualityAssertions", {}).get("assertions", [])
    }
    assert rules == {row["rule"]: row["passed"] for row in audited.rows("quality_results")}


def test_a_job_that_fails_says_so(spark: SparkSession, tmp_path: Path, receiver: Receiver) -> None:
    source, out = copy_ledgers(tmp_path / "source", [BROKEN]), tmp_path / "out"
    run_audit(source, out)
    log = out / "tables" / "scans" / "_delta_log" / f"{0:020}.json"
    log.write_text("no commit")
    receiver.events.clear()
    assert run_audit(source, out).exit_code in (2, 3)
    last = receiver.events[-1]
    assert last["eventType"] == "FAIL"
    assert last["run"]["facets"]["errorMessage"]["message"]
    jsonschema.validate(last, RUN_EVENT)


def test_a_server_that_is_not_there_is_a_line_and_no_more(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:1")
    audited = run_audit(copy_ledgers(tmp_path / "source", [BROKEN]), tmp_path / "out")
    assert audited.exit_code == 1
    assert "OpenLineage: the event START of inventory_ledgers was not sent" in audited.stderr


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, False),
        ({"OPENLINEAGE_URL": "http://x"}, True),
        ({"OPENLINEAGE__TRANSPORT__TYPE": "console"}, True),
        ({"OPENLINEAGE_CONFIG": "f", "OPENLINEAGE_DISABLED": "TRUE"}, False),
        ({"OPENLINEAGE_URL": "http://x", "AIRFLOW_CTX_DAG_ID": "d"}, False),  # Airflow tells of its tasks itself
    ],
)
def test_events_are_made_where_they_are_asked_for(environment: dict[str, str], wanted: bool) -> None:
    assert is_wanted(environment) == wanted


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("/data/a", ("file", "/data/a")),
        ("s3a://bucket/a/b/", ("s3://bucket", "a/b")),
        ("gs://bucket", ("gs://bucket", "/")),
        ("abfss://c@a.dfs.core.windows.net/x", ("abfss://c@a.dfs.core.windows.net", "x")),
        ("pulsar+ssl://b:6651", ("pulsar://b:6651", "/")),
    ],
)
def test_places_are_named_as_the_naming_page_has_them(place: str, name: tuple[str, str]) -> None:
    assert dataset_name(place) == name
