"""Index, broker metadata and clocks along the log: each code with what fires it and what nearly does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.findings import CATALOGUE
from pulsar_backlog.steps.finding_rows import noticed_findings
from pulsar_backlog.steps.order_findings import findings_of_order
from pulsar_backlog.wire.entry import decode_entry
from tests.engines import ENGINES, asked_of, job_context, listed
from tests.frames.rows import NOON_MS, at, entry, fact_rows, ledger, table_rows

NEEDS_SPARK = True

MINUTE = 60_000
WIRE = Path(__file__).parents[1] / "data" / "wire"


Stored = tuple[int, int, dict[str, Any]]
"""Ledger, entry, and what is not as in a healthy entry."""


def two(first: dict[str, Any], second: dict[str, Any]) -> list[Stored]:
    """Two neighbours in one ledger."""
    return [(1, 0, first), (1, 1, second)]


def seam(first: dict[str, Any], second: dict[str, Any]) -> list[Stored]:
    """The last entry of ledger 1, which has two, and the first of ledger 2."""
    return [(1, 0, {}), (1, 1, first), (2, 0, {"n": 2, **second})]


SILENT: dict[str, Any] = {"at_ms": None}
"""An entry without broker metadata."""
LATE = {"sent_ms": -2 * MINUTE}
REPLICATED = LATE | {"replicated_from": "r"}

# What is stored on a topic; one whose name does not begin with a code must raise none.
CASES: dict[str, list[Stored]] = {
    "B01 jump": two({}, {"index": 2}),
    "a batch's index is its last message's": two({}, {"index": 3, "num_messages_in_batch": 3}),
    "B01 batch": two({}, {"index": 5, "num_messages_in_batch": 3}),
    "a reject between": [(1, 0, {}), (1, 2, {"index": 2})],
    "markers count": two({}, {"marker_type": 21}),
    "markers without index": [(1, 0, {}), (1, 1, {"index": None, "marker_type": 21}), (1, 2, {"n": 1, "at_ms": 1500})],
    "a damaged batch count": two({}, {"index": 4, "checksum_state": "mismatch"}),
    "B01 seam": seam({}, {"index": 7}),
    "a seam with a lost entry": [(1, 1, {}), (2, 1, {"n": 7})],
    "a seam over an absent ledger": [(1, 1, {}), (4, 0, {"n": 7})],
    "B02 again": two({}, {"index": 0}),
    "B01 to the largest number there is": two({}, {"index": 2**63 - 1}),
    "B02 to the smallest number there is": two({}, {"index": -(2**63)}),
    "B02 seam to the smallest": seam({}, {"index": -(2**63)}),
    "B02 batch counted as one": two({}, {"index": 1, "num_messages_in_batch": 7}),
    "B02 seam": seam({}, {"index": 0}),
    "B03 ends": two({}, SILENT),
    "B03 seam": seam({}, SILENT),
    "no entry has any": two(SILENT, SILENT),
    "B04 back": two({"at_ms": 10}, {"at_ms": 9, "sent_ms": 0}),
    "the same millisecond": two({"at_ms": 10}, {"at_ms": 10}),
    "B04 seam": seam({"at_ms": 5000}, {"at_ms": 4000}),
    "B05 ahead": two({"sent_ms": MINUTE + 1, "at_ms": 0}, {"sent_ms": 900}),
    "ahead by a minute": two({"sent_ms": MINUTE - 1000, "at_ms": -1000}, {"sent_ms": MINUTE - 1000}),
    "B05 late": two({"sent_ms": -MINUTE - 1}, {"sent_ms": -MINUTE - 1}),
    "one of two late": two(LATE, {}),
    "replicated late": two(REPLICATED, REPLICATED),
    "B06 back": two({"sent_ms": 2001, "at_ms": 2100}, {"sent_ms": 1000, "at_ms": 2200}),
    "back by a second": two({"sent_ms": 2000, "at_ms": 2100}, {"sent_ms": 1000, "at_ms": 2200}),
    "B06 seam": seam({"sent_ms": 950}, {"sent_ms": -100}),
    "a marker's time": two({"sent_ms": 0, "at_ms": 10}, LATE | {"marker_type": 21}),
    "B07 after": [(8, 0, {"at_ms": MINUTE + 1, "sent_ms": MINUTE})],
    "a minute after": [(8, 0, {"at_ms": MINUTE, "sent_ms": MINUTE})],
    "B07 before": [(8, 0, {"at_ms": -1}), (9, 0, {"n": 1, "at_ms": -MINUTE - 1, "sent_ms": -MINUTE - 2})],
}
ALSO = {
    # What the broker's clock did to these shows in other codes as well.
    "B04 seam": {"B04"},
    "B07 before": {"B04", "B06", "B07"},
    "B05 ahead": {"B05", "B06"},
    "B03 ends": {"B03"},
    "B03 seam": {"B03"},
    "B05 late": {"B05"},
}


def findings(
    engine: str, spark: SparkSession, rows: list[dict[str, Any]], ledgers: list[dict[str, Any]],
    absent: dict[str, list[int]] | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Rows of findings about these entries."""
    context = job_context(spark)
    with asked_of(engine, context, {**fact_rows(rows), "ledgers": table_rows("ledgers", ledgers)}) as asked:
        asked.materialize("producers", asked.sql("log", "producers", {}))
        return listed(noticed_findings(context, asked, findings_of_order(asked, absent or {})))


@pytest.fixture(scope="module", params=ENGINES)
def found(request: pytest.FixtureRequest, spark: SparkSession) -> dict[str, dict[str, dict[str, Any]]]:
    """Topic -> code -> finding, of all cases at once."""
    rows = [entry(topic, *place, **given) for topic, stored in CASES.items() for *place, given in stored]
    stored = {(row["topic"], row["ledger_id"]) for row in rows}
    counts = {1: 2, 2: 1}
    ledgers = [
        ledger(topic, ledger_id, counts.get(ledger_id), closed_ms=0 if ledger_id == 8 else None)
        for topic, ledger_id in sorted(stored)
    ]
    absent = {"a seam over an absent ledger": [3]}
    by_topic: dict[str, dict[str, dict[str, Any]]] = {}
    for row in findings(request.param, spark, rows, ledgers, absent):
        by_topic.setdefault(row["topic"], {})[row["code"]] = row
    return by_topic


@pytest.mark.parametrize("topic", CASES)
def test_each_code_fires_where_it_should_and_nowhere_else(found: dict[str, Any], topic: str) -> None:
    code = topic.split(maxsplit=1)[0]
    expected = ALSO.get(topic, {code} if code in CATALOGUE else set())
    assert set(found.get(topic, {})) == expected


def test_a_gap_within_a_ledger_is_certain_and_one_between_ledgers_is_not(found: dict[str, Any]) -> None:
    within, between = found["B01 batch"]["B01"], found["B01 seam"]["B01"]
    assert (within["sureness"], within["evidence"], within["message"]) == (
        "certain", ["1:1"], "Places where the index jumps: 1; indexes that no stored message has: 2.",
    )  # fmt: skip
    assert (between["sureness"], between["ledger_id"], between["entry_id"]) == ("likely", 2, 0)
    assert between["reason"] == "a ledger that is not here may lie between"


def test_a_clock_ahead_is_certain_and_one_behind_is_not(found: dict[str, Any]) -> None:
    ahead, late = found["B05 ahead"]["B05"], found["B05 late"]["B05"]
    assert (ahead["sureness"], ahead["message"]) == (
        "certain", "Producers whose clock is over a minute off the broker's: 1, the farthest 60001 ms.",
    )  # fmt: skip
    assert late["sureness"] == "likely"


def test_the_ambiguity_window_is_named(found: dict[str, Any]) -> None:
    assert found["B06 back"]["B06"]["message"].endswith("ambiguous within 1001 ms.")


@pytest.mark.parametrize("engine", ENGINES)
def test_evidence_is_bounded_and_the_count_is_not(spark: SparkSession, engine: str) -> None:
    # One message from the future: each of the 50 after it was published before it.
    rows = [entry("t", 1, 0, sent_ms=0, at_ms=0), entry("t", 1, 1, sent_ms=600_000, at_ms=1)]
    rows += [entry("t", 1, 2 + n, sent_ms=n + 2, at_ms=n + 2) for n in range(50)]
    (steps,) = fact_rows(rows)["ledger_facts"]["steps"].to_pylist()
    assert {step["code"]: len(step["entry_ids"]) for step in steps}["B06"] == 20  # already per ledger
    by_code = {row["code"]: row for row in findings(engine, spark, rows, [ledger("t", 1)])}
    assert (by_code["B06"]["count"], len(by_code["B06"]["evidence"]), by_code["B06"]["evidence"][0]) == (50, 20, "1:2")


def test_real_markers_of_transactions_have_an_index_of_their_own(spark: SparkSession) -> None:
    # Ledger 85 of a 4.0.8 broker: entries 10 and 11 commit and abort. Their index goes up by one, as a message's does.
    rows = []
    for entry_id in (10, 11):
        stored = decode_entry((WIRE / f"marker-txn.85-{entry_id}.bin").read_bytes())
        assert stored.broker is not None
        assert stored.broker.broker_timestamp is not None
        rows.append(
            entry(
                "t", 85, entry_id, index=stored.broker.index,
                broker_timestamp=at(stored.broker.broker_timestamp - NOON_MS),
                marker_type=stored.metadata.marker_type, sequence_id=-1,
            )
        )  # fmt: skip
    assert [(row["index"], row["marker_type"]) for row in rows] == [(10, 21), (11, 22)]
    assert findings("duckdb", spark, rows, [ledger("t", 85)]) == []
