"""OpenLineage events, taken by a real HTTP server on loopback that holds them against the specification's schemas."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from jsonschema import Draft202012Validator, FormatChecker
from pyspark.sql import SparkSession
from referencing import Registry, Resource

from pulsar_backlog.runs.lineage import dataset_name, is_wanted
from pulsar_backlog.tables import TABLES
from tests.auditing import DATA, copy_ledgers, run_audit

NEEDS_SPARK = True

BROKEN = 5
SPECIFICATION = DATA / "openlineage"
SITE = "https://openlineage.io/spec"
STATISTICS = "OutputStatisticsOutputDatasetFacet"


def registry() -> Registry:
    """The specification's own schemas, by the addresses that events name; nothing is fetched."""
    schemas = [json.loads(path.read_text()) for path in SPECIFICATION.glob("*.json")]
    resources = ((one["$id"], Resource.from_contents(one)) for one in schemas)
    return Registry().with_resources(resources)


SCHEMAS = registry()


def check(event: dict[str, Any]) -> None:
    """Hold an event, and each facet in it, against the schema that it names.

    Raises:
        jsonschema.ValidationError: it does not fit.
        referencing.exceptions.Unresolvable: it names a schema that is not bundled.
    """
    datasets = [*event["inputs"], *event["outputs"]]
    holders = [
        event["run"].get("facets"), event["job"].get("facets"),
        *(one.get(kind) for one in datasets for kind in ("facets", "inputFacets", "outputFacets")),
    ]  # fmt: skip
    facets = [facet for holder in holders for facet in (holder or {}).values()]
    for part, url in [(event, event["schemaURL"]), *((facet, facet["_schemaURL"]) for facet in facets)]:
        Draft202012Validator({"$ref": url}, registry=SCHEMAS, format_checker=FormatChecker()).validate(part)


class Receiver(ThreadingHTTPServer):
    """Takes events that fit the specification, as Marquez does; refuses others, and remembers why."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.events: list[dict[str, Any]] = []
        self.faults: list[str] = []
        self.keys: set[str | None] = set()


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        assert self.path == "/api/v1/lineage"
        self.server.keys.add(self.headers["Authorization"])
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            check(event)
        except Exception as fault:
            self.server.faults.append(f"{type(fault).__name__}: {fault}")
        else:
            self.server.events.append(event)
        self.send_response(422 if self.server.faults else 201)
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
    assert receiver.faults == []
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


@pytest.mark.parametrize(
    "spoil",
    [
        lambda event: event["run"].update(runId="no uuid"),
        lambda event: event.pop("eventTime"),
        lambda event: event["job"]["facets"]["jobType"].pop("integration"),
        lambda event: event["outputs"][0]["outputFacets"]["outputStatistics"].update(rowCount="many"),
    ],
)
def test_the_server_refuses_what_does_not_fit(spoil: Callable[[dict[str, Any]], object]) -> None:
    at = {"_producer": "urn:a:b"}
    event: dict[str, Any] = {
        "eventTime": "2026-11-25T03:00:00+00:00", "producer": "urn:a:b", "eventType": "COMPLETE",
        "schemaURL": f"{SITE}/2-0-2/OpenLineage.json#/$defs/RunEvent", "inputs": [],
        "run": {"runId": "0198a0a0-0000-7000-8000-000000000000"},
        "job": {"namespace": "a", "name": "b", "facets": {"jobType": at | {
            "_schemaURL": f"{SITE}/facets/2-0-4/JobTypeJobFacet.json#/$defs/JobTypeJobFacet",
            "processingType": "BATCH", "integration": "X",
        }}},
        "outputs": [{"namespace": "a", "name": "c", "outputFacets": {"outputStatistics": at | {
            "_schemaURL": f"{SITE}/facets/1-0-2/{STATISTICS}.json#/$defs/{STATISTICS}", "rowCount": 1,
        }}}],
    }  # fmt: skip
    check(event)
    spoil(event)
    with pytest.raises(jsonschema.ValidationError):
        check(event)


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
    assert receiver.faults == []


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
