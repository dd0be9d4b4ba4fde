"""The cells of acknowledgement strips against counting entry by entry; worst first; totals that are true."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from pulsar_backlog.frames.report import acks as report_acks
from pulsar_backlog.report.acks_build import ConsumerRows, acks_by_topic
from pulsar_backlog.report.strips import strip
from pulsar_backlog.terms import SURENESSES
from tests.frames.rows import table_frame

CELLS = 24
SUBSCRIPTION = {"kind": "subscription", "state": "whole", "limits": (10_000, 10_000, 1000, 5 << 20, True)}
TRILLION = 10**12


@dataclass
class Case:
    """A topic with its ledgers' lengths and, of one subscription, the entries that are not acknowledged."""

    topic: str
    lengths: dict[int, int]
    unacked: set[tuple[int, int]] = field(default_factory=set)

    def runs(self) -> list[tuple[int, int, int]]:
        """Ledger, first and last entry of each run."""
        found = []
        ordered = sorted(self.unacked)
        for _, run in groupby(enumerate(ordered), key=lambda pair: (pair[1][0], pair[1][1] - pair[0])):
            entries = [entry for _, entry in run]
            found.append((entries[0][0], entries[0][1], entries[-1][1]))
        return found


def cases() -> list[Case]:
    """Fewer entries than cells, as many, many more; one ledger and several, empty ones among them."""
    dice = random.Random(5)
    made = [Case("one", {4: 1}, {(4, 0)}), Case("all", {4: 7, 6: 3}), Case("edge", {4: CELLS, 9: 1}, {(4, 23), (9, 0)})]
    for at in range(9):
        lengths = {ledger: dice.choice((0, 1, 5, 40, 333)) for ledger in dice.sample(range(50), dice.randint(1, 6))}
        lengths[60] = 2
        entries = [(ledger, entry) for ledger, count in lengths.items() for entry in range(count)]
        share = dice.choice((0.02, 0.5, 0.97))
        made.append(Case(f"t{at}", lengths, {one for one in entries if dice.random() < share}))
    return made


def tables_of(spark: SparkSession, all_cases: list[Case], **ranges: Any) -> dict[str, DataFrame]:
    ledgers = [
        {"topic": case.topic, "ledger_id": ledger, "copy": "a", "selected": selected, "expected_entries": count}
        for case in all_cases
        for ledger, count in case.lengths.items()
        for selected in (True, False)  # a spare copy must not count
    ]
    for row in ledgers:
        row["copy"] = "a" if row["selected"] else "b"
    runs = [
        {
            "topic": case.topic, "subscription": "s", "ledger_id": ledger, "first_entry_id": first,
            "last_entry_id": last, "kind": "hole", "entries": last - first + 1, **ranges,
        }
        for case in all_cases
        for ledger, first, last in case.runs()
    ]  # fmt: skip
    return {
        "ledgers": table_frame(spark, "ledgers", ledgers),
        "scans": table_frame(spark, "scans", []),
        "ack_ranges": table_frame(spark, "ack_ranges", runs),
    }


def subscriptions_of(spark: SparkSession, all_cases: list[Case]) -> DataFrame:
    return table_frame(
        spark, "subscriptions",
        [{**SUBSCRIPTION, "topic": case.topic, "subscription": "s"} for case in all_cases],
    )  # fmt: skip


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in frame.collect()]


def test_cells_are_what_counting_entries_gives(spark: SparkSession) -> None:
    made = cases()
    tables = tables_of(spark, made)
    stalls = table_frame(spark, "stalls", [])
    standing = report_acks.standing(subscriptions_of(spark, made), stalls)
    drawn = report_acks.chosen_subscriptions(standing, 9, 99)
    spans = report_acks.ledger_spans(tables, drawn, CELLS)
    found = acks_by_topic(
        ConsumerRows(
            subscriptions=rows(drawn),
            axes=rows(report_acks.axis_rows(spans)),
            cells=rows(report_acks.cell_rows(tables["ack_ranges"], stalls, spans, drawn)),
        )
    )
    assert set(found) == {case.topic for case in made}
    for case in made:
        axis, facts = found[case.topic].axis, found[case.topic].subscriptions[0]
        assert axis is not None
        entries = sorted((ledger, entry) for ledger, count in case.lengths.items() for entry in range(count))
        assert len(axis.starts) == min(CELLS, len(entries))
        assert sum(axis.sizes) == len(entries)
        assert max(axis.sizes) - min(axis.sizes) <= 1
        assert axis.last == entries[-1]
        counted: dict[int, int] = defaultdict(int)
        begun: dict[int, int] = defaultdict(int)
        cell_of: dict[tuple[int, int], int] = {}
        at = 0
        for cell, (start, size) in enumerate(zip(axis.starts, axis.sizes, strict=True)):
            assert entries[at] == start
            cell_of |= dict.fromkeys(entries[at : at + size], cell)
            at += size
        for one in case.unacked:
            counted[cell_of[one]] += 1
        for ledger, first, _ in case.runs():
            begun[cell_of[ledger, first]] += 1
        assert {cell.cell: round(cell.unacked, 6) for cell in facts.cells} == dict(counted), case.topic
        assert {cell.cell: cell.holes for cell in facts.cells if cell.holes} == dict(begun), case.topic


def test_a_run_of_a_trillion_entries_is_as_many_rows_as_cells(spark: SparkSession) -> None:
    case = Case("long", {1: TRILLION, 2: 1 << 62})  # a length that no ledger has: what was walked counts, here nothing
    tables = tables_of(spark, [case])
    run = {"topic": "long", "subscription": "s", "ledger_id": 1, "first_entry_id": 0, "last_entry_id": TRILLION - 1,
        "kind": "tail", "entries": TRILLION // 2}  # fmt: skip
    ranges, stalls = table_frame(spark, "ack_ranges", [run]), table_frame(spark, "stalls", [])
    standing = report_acks.standing(subscriptions_of(spark, [case]), stalls)
    spans = report_acks.ledger_spans(tables, standing, CELLS)
    (row,) = rows(report_acks.cell_rows(ranges, stalls, spans, standing))
    assert len(row["cells"]) == CELLS
    assert sum(cell["unacked"] for cell in row["cells"]) == pytest.approx(TRILLION / 2)  # half of them are not stored
    assert {cell["holes"] for cell in row["cells"]} == {0}


def stall(subscription: str, entry_id: int, **more: Any) -> dict[str, Any]:
    return {
        "topic": "t", "subscription": subscription, "chunk_uuid": f"u-{entry_id}", "action": "skip",
        "unacked_positions": [(4, entry_id), (4, entry_id + 1)], "sureness": "likely", "advice": "a", **more,
    }  # fmt: skip


@pytest.fixture(scope="module")
def stalled(spark: SparkSession) -> dict[str, DataFrame]:
    subscriptions = [
        ("idle", 0, 900), ("large", 1, 500), ("blocked-small", 2, 3), ("small", 1, 5), ("blocked-sure", 1, 2),
    ]  # fmt: skip
    return {
        "subscriptions": table_frame(spark, "subscriptions", [
            {**SUBSCRIPTION, "topic": "t", "subscription": name, "stalls": count, "backlog_entries": backlog}
            for name, count, backlog in subscriptions
        ]),
        "stalls": table_frame(spark, "stalls", [
            stall("large", 5), stall("small", 5), stall("idle", 6, action="wait"),
            stall("blocked-small", 9), stall("blocked-small", 8, blocks_dispatch=True),
            stall("blocked-small", 2, action="wait"), stall("blocked-small", 10, blocks_dispatch=True),
            stall("blocked-sure", 7, blocks_dispatch=True, sureness="certain"),
        ]),
    }  # fmt: skip


def test_blocked_ones_come_first_and_are_counted_in_full(stalled: dict[str, DataFrame]) -> None:
    standing = report_acks.standing(stalled["subscriptions"], stalled["stalls"])
    drawn = rows(report_acks.chosen_subscriptions(standing, 4, 99))
    assert [row["subscription"] for row in drawn] == ["blocked-sure", "blocked-small", "large", "small"]
    assert {(row["total"], row["blocked"]) for row in drawn} == {(5, 2)}
    assert {tuple(row[f"blocked_{word}"] for word in SURENESSES) for row in drawn} == {(1, 1, 0)}
    assert [row["stall_total"] for row in drawn] == [1, 4, 1, 1]
    assert drawn[1]["blocked_by"] == {
        "ledger_id": 4, "entry_id": 8, "sureness": "likely", "advice": "a", "action": "skip",
    }  # fmt: skip
    assert len(rows(report_acks.chosen_subscriptions(standing, 4, 3))) == 3
    assert rows(report_acks.acks_counts(standing)) == [
        {"total": 5, "stalled": 4, "blocked": 2, "blocked_certain": 1, "blocked_likely": 1, "blocked_cannot_tell": 0}
    ]


def test_the_surest_block_is_named_first(stalled: dict[str, DataFrame]) -> None:
    standing = report_acks.standing(stalled["subscriptions"], stalled["stalls"])
    blocked = rows(report_acks.blocked_rows(standing, 9))
    assert [(row["subscription"], row["entry_id"]) for row in blocked] == [("blocked-sure", 7), ("blocked-small", 8)]
    assert len(rows(report_acks.blocked_rows(standing, 1))) == 1


def test_sets_are_told_in_the_order_of_what_they_do(stalled: dict[str, DataFrame]) -> None:
    told = rows(report_acks.stall_rows(stalled["stalls"], stalled["subscriptions"], 3))
    own = [row["unacked_positions"][0]["entry_id"] for row in told if row["subscription"] == "blocked-small"]
    assert own == [8, 10, 9]  # what blocks, then what is to be done; what only waits is cut off


def test_marks_stand_where_sets_begin(spark: SparkSession, stalled: dict[str, DataFrame]) -> None:
    case = Case("t", {4: 12})
    standing = report_acks.standing(stalled["subscriptions"], stalled["stalls"])
    drawn = report_acks.chosen_subscriptions(standing, 9, 99)
    tables = tables_of(spark, [case])
    spans = report_acks.ledger_spans(tables, drawn, CELLS)
    found = acks_by_topic(
        ConsumerRows(
            subscriptions=rows(drawn),
            axes=rows(report_acks.axis_rows(spans)),
            cells=rows(report_acks.cell_rows(tables["ack_ranges"], stalled["stalls"], spans, drawn)),
        )
    )["t"]
    small = next(one for one in found.subscriptions if one.row["subscription"] == "blocked-small")
    assert [(cell.cell, cell.stalls, cell.blocking) for cell in small.cells] == [
        (8, 1, True), (9, 1, False), (10, 1, True),
    ]  # fmt: skip
    picture = strip(found.axis, small)
    assert picture is not None
    assert picture.marks == 3


def test_models_are_summed_with_the_first_topic_that_stops_them(spark: SparkSession) -> None:
    stopped = {"damage": "panic", "damage_ledger_id": 3, "damage_entry_id": 1, "sureness": "likely"}
    forecasts = table_frame(spark, "client_forecasts", [
        {"topic": "b", "model": "go", "delivered": 2, **stopped},
        {"topic": "a", "model": "go", "delivered": 3, "mixed": 1, **stopped, "sureness": "certain"},
        {"topic": "c", "model": "go", "delivered": 4},
        {"topic": "c", "model": "java", "delivered": 5},
    ])  # fmt: skip
    go, java = rows(report_acks.model_sums(forecasts, ("delivered", "mixed"), 9))
    assert (go["delivered"], go["mixed"], go["stopped"], go["first"]["topic"]) == (9, 1, 2, "a")
    assert go["sureness"] == "likely"  # of both stops, not of the first alone
    assert (java["delivered"], java["stopped"], java["first"]) == (5, 0, None)
    assert java["sureness"] is None


def test_the_first_message_of_a_dangerous_outcome_is_its_example(spark: SparkSession) -> None:
    same = {"topic": "t", "model": "go"}
    outcomes = table_frame(spark, "consumer_outcomes", [
        {**same, "outcome": "mixed", "first_ledger_id": 9, "first_entry_id": 0, "reason": "late"},
        {**same, "outcome": "mixed", "first_ledger_id": 3, "first_entry_id": 7, "reason": "early"},
        {**same, "outcome": "delivered", "first_ledger_id": 1, "first_entry_id": 0},
    ])  # fmt: skip
    (row,) = rows(report_acks.example_rows(outcomes, ("mixed", "lost")))
    assert (row["outcome"], row["publications"], row["first"]["reason"]) == ("mixed", 2, "early")
