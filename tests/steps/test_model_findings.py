"""Each finding of the consumer models: one case that fires it, and one that comes near and does not."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.steps.model_findings import TABLES_ASKED, findings_of_models
from pulsar_backlog.tables import TABLES
from tests.engines import ENGINES, asked_of, job_context, listed
from tests.frames.rows import table_rows

NEEDS_SPARK = True

TOPIC = "persistent://t/n/topic"
OUTCOME = {
    "cluster": "c", "topic": TOPIC, "chunk_uuid": "p-1", "publish_time": None, "publish_time_ms": 1, "model": "java",
    "outcome": "delivered", "deliveries": 1, "mixed_deliveries": 0, "wrong_deliveries": 0, "acked_unread": 0,
    "holes": 0, "blocked_entries": 0, "permits_kept": 0, "sureness": "certain", "reason": "", "first_ledger_id": 7,
    "first_entry_id": 3,
}  # fmt: skip
FORECAST = {
    **{column.name: 0 for column in TABLES["client_forecasts"].columns if column.type in ("bigint", "int")},
    "cluster": "c", "topic": TOPIC, "model": "java", "profile": "J-NEW", "builds": "b", "receiver_queue": 1000,
    "pending_limit": 10, "damage": None, "damage_ledger_id": None, "damage_entry_id": None, "damage_uuid": None,
    "damage_reason": None, "sureness": "certain",
}  # fmt: skip
PUBLICATION = {
    "topic": TOPIC,
    "chunk_uuid": "p-1",
    "publish_time_ms": 1,
    "state": "whole",
    "span_ms": 0,
    "first_ledger_id": 7,
    "first_entry_id": 3,
}
AT = {"damage_ledger_id": 7, "damage_entry_id": 5}

CASES: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any], bool]] = [
    # code, changes to outcome, forecast and publication, whether it fires
    ("C19", {}, {"peak_open_in_log": 11}, {}, True),
    ("C19", {}, {"peak_open_in_log": 10}, {}, False),
    ("C19", {}, {"peak_open_in_log": 10_000, "pending_limit": None}, {}, False),
    ("C20", {}, {}, {"span_ms": 60_001}, True),
    ("C20", {}, {}, {"span_ms": 60_000}, False),
    ("C20", {}, {}, {"span_ms": 60_001, "state": "orphan_prefix"}, False),
    ("C21", {"outcome": "lost", "deliveries": 0}, {}, {"state": "out_of_order"}, True),
    ("C21", {"outcome": "delivered_again", "deliveries": 2}, {}, {}, True),
    ("C21", {"outcome": "hole", "deliveries": 0}, {}, {"state": "gap"}, False),
    ("C32", {}, {"permits_kept": 500}, {}, True),
    ("C32", {}, {"permits_kept": 499}, {}, False),
    ("C40", {"outcome": "mixed", "mixed_deliveries": 1, "deliveries": 0}, {}, {"state": "headless"}, True),
    ("C40", {"outcome": "wrong_content", "wrong_deliveries": 1, "deliveries": 0}, {}, {"state": "gap"}, False),
    ("C41", {}, {"damage": "reconnect_loop", **AT}, {}, True),
    ("C42", {}, {"damage": "process_death", **AT}, {}, True),
    ("C42", {}, {"damage": "panic", **AT}, {}, True),
    ("C42", {}, {"damage": "query_failure", **AT}, {}, True),
    ("C43", {}, {"damage": "permit_stall", **AT}, {}, True),
    ("C43", {}, {"damage": "dispatch_stall", **AT}, {}, True),
    ("C41", {}, {"damage": "panic", **AT}, {}, False),
    ("C42", {}, {"damage": "permit_stall", **AT}, {}, False),
    ("C43", {}, {"damage": "reconnect_loop", **AT}, {}, False),
]


@pytest.fixture(scope="module", params=ENGINES)
def found(request: pytest.FixtureRequest, spark: SparkSession) -> dict[str, dict[str, dict[str, Any]]]:
    """Findings of all cases at once, by case (its topic) and code."""
    made: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES_ASKED}
    for number, (_code, outcome, forecast, publication, _fires) in enumerate(CASES):
        topic = {"topic": str(number)}
        made["consumer_outcomes"].append(OUTCOME | outcome | topic)
        made["client_forecasts"].append(FORECAST | forecast | topic)
        made["chunked_messages"].append(PUBLICATION | publication | topic)
    context = job_context(spark)
    by_case: dict[str, dict[str, dict[str, Any]]] = {}
    with asked_of(request.param, context, {name: table_rows(name, rows) for name, rows in made.items()}) as asked:
        for row in listed(findings_of_models(context, asked)):
            by_case.setdefault(row["topic"], {})[row["code"]] = row
    return by_case


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda n: f"{n}-{CASES[n][0]}-{CASES[n][-1]}")
def test_fires_or_not(found: dict[str, dict[str, dict[str, Any]]], number: int) -> None:
    code, *_changes, fires = CASES[number]
    assert (code in found.get(str(number), {})) == fires


def test_a_finding_says_who_and_where(found: dict[str, dict[str, dict[str, Any]]]) -> None:
    loop = found[str([case[2].get("damage") for case in CASES].index("reconnect_loop"))]["C41"]
    assert (loop["ledger_id"], loop["entry_id"], loop["evidence"]) == (7, 5, ["7:5"])
    assert loop["message"] == "java: reconnect_loop at 7:5, messages behind it: 0."
    first = {
        code: found[str([case[0] for case in CASES].index(code))][code]["message"] for code in ("C19", "C20", "C32")
    }
    assert first == {
        "C19": "11 chunked messages are open at one time: java keeps 10.",
        "C20": "Chunked messages that took longer than 60 seconds to store: 1, the longest 60001 milliseconds.",
        "C32": "Permits that a client keeps: 500 at most (java keeps 500 of 1000).",
    }
    lost = found[str([case[0] for case in CASES].index("C21"))]["C21"]
    assert (lost["count"], lost["evidence"]) == (1, ["7:3"])
    assert lost["message"] == "Whole chunked messages that a client does not deliver exactly once: 1 (java 1 lost)."
