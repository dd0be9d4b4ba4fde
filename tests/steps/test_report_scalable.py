"""Scalable topics of the report, gathered from the audit of a real 5.0.0-M1 by both engines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.options import Options
from pulsar_backlog.report.layouts import layout_drawing
from pulsar_backlog.report.scalable import Scalable
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.runs import now
from pulsar_backlog.sql import engines
from pulsar_backlog.sql.engines import DuckEngine, SparkEngine
from pulsar_backlog.steps.report_model import Gathering
from pulsar_backlog.steps.report_scalable import scalable_topics
from pulsar_backlog.tableio import table_cache
from tests.auditing import DATA, Audited, run_audit

NEEDS_SPARK = True

PULSAR5 = DATA / "pulsar5"


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    return run_audit(PULSAR5 / "objects", tmp_path_factory.mktemp("pulsar5"), admin=PULSAR5 / "admin", cluster="m1")


def gathered(spark: SparkSession, out: Path, kind: type) -> Scalable:
    context = JobContext(lambda: spark, "job", Options(out=str(out), cluster="m1"), now())
    with context.resources, engines.query_engine(context) as engine:
        assert isinstance(engine, kind)
        scalable = Gathering(context, engine).model().scalable
        assert scalable_topics(engine) == scalable
        return scalable


def test_both_engines_gather_the_same(spark: SparkSession, audited: Audited, monkeypatch: pytest.MonkeyPatch) -> None:
    small = gathered(spark, audited.out, DuckEngine)
    monkeypatch.setattr(table_cache, "MAX_ROWS", -1)
    monkeypatch.setattr(engines, "MAX_BYTES", -1)
    table_cache.clear()
    assert gathered(spark, audited.out, SparkEngine) == small


def test_segments_are_those_of_the_saved_layout(spark: SparkSession, audited: Audited) -> None:
    saved = json.loads((PULSAR5 / "scalable" / "acme__shop__transfers.scalable.json").read_text())["segments"]
    scalable = gathered(spark, audited.out, DuckEngine)
    topics = {one.topic: one for one in scalable.topics}
    assert scalable.total == len(topics) == 8
    transfers = topics["topic://acme/shop/transfers"]
    assert {str(one.segment_id): (one.first_hash, one.last_hash, one.status.upper(), one.created_ms, one.parents)
            for one in transfers.listed} == {
        number: (one["hashRange"]["start"], one["hashRange"]["end"], one["state"], one["createdAtMs"],
                 tuple(one["parentIds"]))
        for number, one in saved.items()
    }  # fmt: skip
    (settle,) = transfers.subscriptions
    assert (settle.subscription, settle.registered, settle.cursors) == ("settle", False, 1)
    assert (settle.segments_without_cursor, settle.entries_without_cursor) == (4, 15)
    assert [row["code"] for row in transfers.findings] == ["S53"]
    assert all(layout_drawing(one.listed) for one in scalable.topics)


def test_the_report_of_the_audit_shows_them_worst_first(audited: Audited) -> None:
    text = (audited.out / "report.html").read_text()
    shown = [
        name for name in ("transfers", "race", "legacy", "clicks") if f"topic://acme/shop/{name}</bdi></h3>" in text
    ]
    assert shown == ["transfers", "race", "legacy", "clicks"]
    places = [text.index(f"topic://acme/shop/{name}</bdi></h3>") for name in shown]
    assert places == sorted(places)
