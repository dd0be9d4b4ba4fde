"""The report's queries in both engines: cells against counting entry by entry; worst first; totals that are true."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.options import Options
from pulsar_backlog.report.acks_build import ConsumerRows, acks_by_topic
from pulsar_backlog.report.clients import DANGEROUS, OUTCOMES
from pulsar_backlog.report.growth import growth_of
from pulsar_backlog.report.strips import strip
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.runs import now
from pulsar_backlog.sql import engines
from pulsar_backlog.sql.conf_queries import spark_query
from pulsar_backlog.steps import report_model
from pulsar_backlog.steps.report_model import LIMITS
from pulsar_backlog.tableio import table_cache
from pulsar_backlog.terms import SURENESSES
from tests.blank_rows import NOON
from tests.engines import job_context
from tests.small_tables import write_tables

NEEDS_SPARK = True

CELLS = 24
VIEW = "backlog_growth"
"""View that queries of the report name."""
KEPT = (VIEW, "standing", "topics", "chosen", "drawn", "spans", "families", "needs", "dangers")
"""Relations that queries of the report name."""
LIMITS_OF = {"ranges": 10_000, "batch_entries": 10_000, "metadata_store_ranges": 1000, "frame_bytes": 5 << 20,
    "long_array": True}  # fmt: skip
SUBSCRIPTION = {"cluster": "c", "kind": "subscription", "state": "whole", "limits": LIMITS_OF}
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


Rows = list[dict[str, Any]]
Ask = Callable[..., dict[str, Rows]]
"""Rows of queries over tables that hold these rows, with other numbers than a report's where they are given."""


def words_of(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def needed(texts: dict[str, str], queries: Iterable[str]) -> set[str]:
    """Queries, the relations that they name, and those that these name."""
    found = set(queries)
    while more := (texts.keys() - found) & {word for name in found for word in words_of(texts[name])}:
        found |= more
    return found


@pytest.fixture(params=["held", "files", "spark"])
def ask(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Ask]:
    """DuckDB over rows that are held, and over files, and Spark."""
    if request.param != "held":
        monkeypatch.setattr(table_cache, "MAX_ROWS", -1)
    monkeypatch.setattr(engines, "MAX_BYTES", engines.MAX_BYTES if request.param == "files" else -1)
    with ExitStack() as stack:

        def answer(*queries: str, given: dict[str, dict[str, int]] | None = None, **tables: Rows) -> dict[str, Rows]:
            write_tables(tmp_path, runs=[], **tables)
            batch = {"chosen": {"after": 0, "topics": 500}}

            rooms = dict.fromkeys(("sets", *KEPT, *queries), "report") | {VIEW: "sql"}
            every = {name: spark_query(room, name) for name, room in rooms.items()}
            wanted = needed(every, queries)
            words = {word for name in wanted for word in words_of(every[name])}
            context = JobContext(lambda: spark, "job", Options(out=str(tmp_path), cluster="c"), now())
            stack.enter_context(context.resources)
            names = [name for name in engines.REPORT_TABLES if name in words]  # Spark takes its time for each
            asked = stack.enter_context(engines.query_engine(context, names))
            assert isinstance(asked, engines.SparkEngine if request.param == "spark" else engines.DuckEngine)
            texts = {
                name: asked.sql(
                    rooms[name], name, {**LIMITS.get(name, {}), **batch.get(name, {}), **(given or {}).get(name, {})}
                )
                for name in wanted
            }
            if "sets" in wanted:
                asked.create_view("sets", texts["sets"])
            for name in KEPT:
                if name in wanted:
                    asked.materialize(name, texts[name])
            return asked.rows({name: texts[name] for name in queries})

        yield answer


def tables_of(all_cases: list[Case]) -> dict[str, Rows]:
    return {
        "ledgers": [
            {"cluster": "c", "topic": case.topic, "ledger_id": ledger, "copy": copy, "selected": copy == "a",
                "expected_entries": count}
            for case in all_cases
            for ledger, count in case.lengths.items()
            for copy in ("a", "b")  # a spare copy must not count
        ],
        "ack_ranges": [
            {"cluster": "c", "topic": case.topic, "subscription": "s", "ledger_id": ledger, "first_entry_id": first,
                "last_entry_id": last, "kind": "hole", "entries": last - first + 1}
            for case in all_cases
            for ledger, first, last in case.runs()
        ],
        "subscriptions": [{**SUBSCRIPTION, "topic": case.topic, "subscription": "s"} for case in all_cases],
    }  # fmt: skip


def acks_of(found: dict[str, Rows]) -> dict[str | None, Any]:
    return acks_by_topic(
        ConsumerRows(subscriptions=found["topic_subscriptions"], axes=found["axes"], cells=found["cells"])
    )


IN_CELLS = {"spans": {"cells": CELLS, "ledger_entries": 1 << 40}}
DRAWN = ("topic_subscriptions", "axes", "cells")


def test_cells_are_what_counting_entries_gives(ask: Ask) -> None:
    made = cases()
    found = acks_of(ask(*DRAWN, given=IN_CELLS, **tables_of(made)))
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


def test_a_run_of_a_trillion_entries_is_as_many_rows_as_cells(ask: Ask) -> None:
    case = Case("long", {1: TRILLION, 2: 1 << 62})  # a length that no ledger has: what was walked counts, here nothing
    run = {"cluster": "c", "topic": "long", "subscription": "s", "ledger_id": 1, "first_entry_id": 0,
        "last_entry_id": TRILLION - 1, "kind": "tail", "entries": TRILLION // 2}  # fmt: skip
    cells = ask("cells", given=IN_CELLS, **tables_of([case]) | {"ack_ranges": [run]})["cells"]
    assert [cell["cell"] for cell in cells] == list(range(CELLS))
    assert sum(cell["unacked"] for cell in cells) == pytest.approx(TRILLION / 2)  # half of them are not stored
    assert {cell["holes"] for cell in cells} == {0}


def utc_ms(time: datetime) -> int:
    return round(time.astimezone(UTC).timestamp() * 1000)


def position(entry_id: int) -> dict[str, int]:
    return {"ledger_id": 4, "entry_id": entry_id}


def stall(subscription: str, entry_id: int, **more: Any) -> dict[str, Any]:
    return {
        "cluster": "c", "topic": "t", "subscription": subscription, "chunk_uuid": f"u-{entry_id}", "action": "skip",
        "unacked_positions": [position(entry_id), position(entry_id + 1)], "sureness": "likely", "advice": "a", **more,
    }  # fmt: skip


def stalled() -> dict[str, Rows]:
    subscriptions = [
        ("idle", 0, 900), ("large", 1, 500), ("blocked-small", 2, 3), ("small", 1, 5), ("blocked-sure", 1, 2),
    ]  # fmt: skip
    return {
        **tables_of([Case("t", {4: 12})]),
        "subscriptions": [
            {**SUBSCRIPTION, "topic": "t", "subscription": name, "stalls": count, "backlog_entries": backlog}
            for name, count, backlog in subscriptions
        ],
        "stalls": [
            stall("large", 5), stall("small", 5), stall("idle", 6, action="wait"),
            stall("blocked-small", 9), stall("blocked-small", 8, blocks_dispatch=True),
            stall("blocked-small", 2, action="wait"), stall("blocked-small", 10, blocks_dispatch=True),
            stall("blocked-sure", 7, blocks_dispatch=True, sureness="certain"),
        ],
    }  # fmt: skip


def test_blocked_ones_come_first_and_are_counted_in_full(ask: Ask) -> None:
    few = {"drawn": {"subscriptions": 4, "strips": 99}}
    found = ask("topic_subscriptions", "acks", given=few, **stalled())
    drawn = found["topic_subscriptions"]
    assert [row["subscription"] for row in drawn] == ["blocked-sure", "blocked-small", "large", "small"]
    assert {(row["total"], row["blocked"]) for row in drawn} == {(5, 2)}
    assert {tuple(row[f"blocked_{word}"] for word in SURENESSES) for row in drawn} == {(1, 1, 0)}
    assert [row["stall_total"] for row in drawn] == [1, 4, 1, 1]
    assert (drawn[1]["blocked_ledger_id"], drawn[1]["blocked_entry_id"], drawn[1]["blocked_sureness"]) == (
        4, 8, "likely",
    )  # fmt: skip
    assert found["acks"] == [
        {"total": 5, "stalled": 4, "blocked": 2, "blocked_certain": 1, "blocked_likely": 1, "blocked_cannot_tell": 0}
    ]


def test_no_more_are_drawn_than_a_page_holds(ask: Ask) -> None:
    drawn = ask("topic_subscriptions", given={"drawn": {"subscriptions": 4, "strips": 3}}, **stalled())
    assert [row["subscription"] for row in drawn["topic_subscriptions"]] == ["blocked-sure", "blocked-small", "large"]


def backlog(subscription: str, night: int, entries: int) -> dict[str, Any]:
    time = NOON + timedelta(days=night)
    return {
        "cluster": "c", "topic": "t", "subscription": subscription, "run_id": str(night), "compared_at": time,
        "saved_time": time, "comparable": True, "backlog_entries": entries, "unstored_entries": 0,
    }  # fmt: skip


def test_what_becomes_of_a_backlog_stands_beside_its_subscription(ask: Ask) -> None:
    courses = {"idle": [900, 800, 700, 600], "large": [500, 500, 500, 500], "small": [5, 9]}
    backlogs = [
        backlog(name, at, one) for name, course in courses.items() for at, one in enumerate(course, 4 - len(course))
    ]
    found = ask("topic_subscriptions", "growth_counts", **stalled() | {"backlogs": backlogs})
    rows = {row["subscription"]: growth_of(row) for row in found["topic_subscriptions"]}
    idle, large, small = rows["idle"], rows["large"], rows["small"]
    assert idle and large and small
    assert (rows["blocked-sure"], rows["blocked-small"]) == (None, None), "no night of them can be compared"
    assert (idle["direction"], idle["growth_entries"], idle["lowest_per_day"], idle["nights"]) == (
        "drains",
        -100,
        -100,
        4,
    )
    end = utc_ms(NOON + timedelta(days=9))
    assert (idle["empty_from_ms"], idle["empty_until_ms"], idle["counted_by"]) == (end, end, "ledgers")
    assert (large["direction"], large["growth_reason"]) == ("flat", None)
    assert (small["direction"], small["growth_entries"], small["empty_until_ms"]) == ("cannot_say", 4, None)
    assert "fewer than four nights" in str(small["growth_reason"])
    assert {row["direction"]: row["subscriptions"] for row in found["growth_counts"]} == {
        "cannot_say": 1, "drains": 1, "flat": 1,
    }  # fmt: skip


@pytest.mark.parametrize("most", [9, 1])
def test_the_surest_block_is_named_first(ask: Ask, most: int) -> None:
    blocked = ask("blocked", given={"blocked": {"blocked": most}}, **stalled())["blocked"]
    named = [(row["subscription"], row["entry_id"], row["action"], row["blocked_place"]) for row in blocked]
    assert named == [("blocked-sure", 7, "skip", 1), ("blocked-small", 8, "skip", 2)][:most]


def test_what_decides_about_a_set_is_asked_of_all_publications_of_its_uuid(ask: Ask) -> None:
    def row(uuid: str, state: str, sureness: str = "certain", **more: Any) -> dict[str, Any]:
        return {"cluster": "c", "topic": "t", "chunk_uuid": uuid, "state": state, "sureness": sureness, "flags": [],
            **more}  # fmt: skip

    publications = [
        row("dead", "gap"),
        row("dead", "headless", "likely", publish_time_ms=1),  # its sibling is not for certain lost
        row("late", "gap"), row("late", "in_flight", publish_time_ms=1),
        row("fine", "whole", rebuildable=True, flags=["repeated_prefix"]),
        row("lies", "whole", rebuildable=True, flags=["ledger_span", "sizes_lie"]),
        row("torn", "whole"),  # all chunks are there, and no undamaged copy of one
        row("odd", "malformed"),
        row("odd-and-lost", "gap", flags=["metadata_conflict"]),  # an export is not asked for it
    ]  # fmt: skip
    names = list(dict.fromkeys(one["chunk_uuid"] for one in publications))
    found = ask("needs", **tables_of([Case("t", {4: 12})]) | {
        "chunked_messages": publications,
        "stalls": [stall(name, 1, chunk_uuid=name, action="acknowledge") for name in [*names, "gone"]],
    })["needs"]  # fmt: skip
    facts = {row["subscription"]: tuple(row[name] for name in ("arrives", "unverifiable", "complete", "doubt"))
        for row in found}  # fmt: skip
    assert facts == {
        "dead": (False, False, False, 1), "late": (True, False, False, 0), "fine": (False, False, True, 0),
        "lies": (False, True, True, 0), "torn": (False, True, True, 0), "odd": (False, True, False, 0),
        "odd-and-lost": (False, False, False, 0),
        "gone": (False, False, False, 2),  # no table says what it belongs to: nothing is sure
    }  # fmt: skip
    assert {row["sets"] for row in found} == {1}


def test_what_is_forecast_is_stalled_and_nothing_that_a_forecast_does_not_play(ask: Ask) -> None:
    found = stalled()
    held_up = {
        "kind": "pinned_to_dead",
        "code": "C46",
        "sureness": "likely",
        "evidence": "",
        "remedy": "",
        "advice": "",
    }
    wait = {**held_up, "kind": "delayed", "code": None}
    more = {"large": {"holdups": [held_up]}, "small": {"holdups": [wait]}, "idle": {"subscription_type": None}}
    subscriptions = [
        {"subscription_type": "Shared", **one, **more.get(one["subscription"], {})} for one in found["subscriptions"]
    ]
    given = {"stalled": {"entries": 600, "subscriptions": 9}}
    tables = {**found, "subscriptions": subscriptions}
    names = [row["subscription"] for row in ask("stalled", given=given, **tables)["stalled"]]
    assert names == ["blocked-sure", "blocked-small", "large"]


def test_what_stops_a_client_is_not_forecast(ask: Ask) -> None:
    found = stalled()
    found["subscriptions"] = [{"subscription_type": "Shared", **one} for one in found["subscriptions"]]
    at = {"cluster": "c", "topic": "t"}
    found["ack_ranges"] = [{**at, "subscription": "blocked-sure", "ledger_id": 4, "first_entry_id": 7,
        "last_entry_id": 9, "kind": "hole"}]  # fmt: skip
    found["client_forecasts"] = [{**at, "model": "go", "damage": "panic", "damage_ledger_id": 4, "damage_entry_id": 8}]
    found["chunked_messages"] = [
        {**at, "chunk_uuid": "u-10", "state": "whole", "sureness": "certain", "flags": ["decode_fault"]},
    ]
    given = {"stalled": {"entries": 600, "subscriptions": 9}}
    assert ask("stalled", given=given, **found)["stalled"] == []


def test_a_client_that_stops_at_an_entry_is_a_danger_to_who_has_not_acknowledged_it(ask: Ask) -> None:
    damage = {"cluster": "c", "topic": "t", "damage": "panic", "damage_ledger_id": 4}
    found = ask("dangers", **tables_of([Case("t", {4: 12}, {(4, 5), (4, 6)})]) | {
        "client_forecasts": [
            {**damage, "model": "go", "damage_entry_id": 6},
            {**damage, "model": "java", "damage_entry_id": 7},
            {**damage, "model": "python", "damage": None, "damage_entry_id": 5},
        ],
    })["dangers"]  # fmt: skip
    assert [(row["subscription"], row["model"], row["damage_entry_id"]) for row in found] == [("s", "go", 6)]


def test_each_subscription_gets_a_line_the_blocked_ones_first(ask: Ask) -> None:
    lines = ask("subscriptions", **stalled())["subscriptions"]
    assert [(row["subscription"], row["blocked_entry_id"]) for row in lines] == [
        ("blocked-sure", 7), ("blocked-small", 8), ("large", None), ("small", None), ("idle", None),
    ]  # fmt: skip


def test_sets_are_told_in_the_order_of_what_they_do(ask: Ask) -> None:
    told = ask("stalls", given={"stalls": {"stalls": 3}}, **stalled())["stalls"]
    own = [row["unacked_positions"][0]["entry_id"] for row in told if row["subscription"] == "blocked-small"]
    assert own == [8, 10, 9]  # what blocks, then what is to be done; what only waits is cut off
    (cut, *_) = ask("stalls", given={"stalls": {"stalls": 1}})["stalls"]
    assert len(cut["unacked_positions"]) == 1


def test_marks_stand_where_sets_begin(ask: Ask) -> None:
    found = acks_of(ask(*DRAWN, given=IN_CELLS, **stalled()))["t"]
    small = next(one for one in found.subscriptions if one.row["subscription"] == "blocked-small")
    assert [(cell.cell, cell.stalls, cell.blocking) for cell in small.cells] == [
        (8, 1, True), (9, 1, False), (10, 1, True),
    ]  # fmt: skip
    picture = strip(found.axis, small)
    assert picture is not None
    assert picture.marks == 3


def test_what_is_cut_by_compaction_begins_where_its_chunk_0_lies(ask: Ask) -> None:
    cut = stall("s", 0, unacked_positions=[], first_chunk_ledger_id=4, first_chunk_entry_id=7, action="skip")
    tables = tables_of([Case("t", {4: 12})]) | {"stalls": [cut]}
    found = ask(*DRAWN, "stalls", given=IN_CELLS, **tables)
    assert [row["chunk_uuid"] for row in found["stalls"]] == ["u-0"]
    assert [(cell["cell"], cell["stalls"]) for cell in found["cells"]] == [(7, 1)]
    assert [(row["stall_total"], row["is_blocked"]) for row in found["topic_subscriptions"]] == [(1, False)]


def test_models_are_summed_with_the_first_topic_that_stops_them(ask: Ask) -> None:
    stopped = {"damage": "panic", "damage_ledger_id": 3, "damage_entry_id": 1, "sureness": "likely"}
    forecasts = [
        {"topic": "b", "model": "go", "delivered": 2, **stopped},
        {"topic": "a", "model": "go", "delivered": 3, "mixed": 1, **stopped, "sureness": "certain"},
        {"topic": "c", "model": "go", "delivered": 4},
        {"topic": "c", "model": "java", "delivered": 5},
    ]
    go, java = ask("models", client_forecasts=[{"cluster": "c", **row} for row in forecasts])["models"]
    assert set(OUTCOMES) <= set(go)
    assert (go["delivered"], go["mixed"], go["stopped"], go["first_topic"]) == (9, 1, 2, "a")
    assert go["sureness"] == "likely"  # of both stops, not of the first alone
    assert (java["delivered"], java["stopped"], java["first_damage"]) == (5, 0, None)
    assert java["sureness"] is None


def test_the_first_message_of_a_dangerous_outcome_is_its_example(ask: Ask) -> None:
    same = {"cluster": "c", "topic": "t", "model": "go"}
    outcomes = [
        {**same, "outcome": "mixed", "first_ledger_id": 9, "first_entry_id": 0, "reason": "late"},
        {**same, "outcome": "mixed", "first_ledger_id": 3, "first_entry_id": 7, "reason": "early"},
        *({**same, "outcome": name, "first_ledger_id": 1, "first_entry_id": 0} for name in OUTCOMES if name != "mixed"),
    ]
    tables = tables_of([Case("t", {1: 1})])
    found = ask("examples", consumer_outcomes=outcomes, **tables)["examples"]
    assert {row["outcome"] for row in found} == set(DANGEROUS)
    (mixed,) = (row for row in found if row["outcome"] == "mixed")
    assert (mixed["publications"], mixed["first_ledger_id"], mixed["reason"]) == (2, 3, "early")


def test_another_clusters_rows_are_not_told(ask: Ask) -> None:
    other = {"cluster": "d", "topic": "t", "state": "gap", "chunk_uuid": "theirs"}
    mine = {"cluster": "c", "topic": "t", "state": "gap", "chunk_uuid": "mine"}
    tables = tables_of([Case("t", {1: 1})])
    found = ask("broken", "groups", chunked_messages=[other, mine], **tables)
    assert [row["chunk_uuid"] for row in found["broken"]] == ["mine"]
    assert [row["publications"] for row in found["groups"]] == [1]


def test_a_message_is_broken_unless_it_is_whole_in_one_ledger_or_two(ask: Ask) -> None:
    rows = [
        ("fine", "whole", []), ("in-two-ledgers", "whole", ["ledger_span"]), ("late", "in_flight", []),
        ("again", "whole", ["whole_duplicate", "ledger_span"]), ("lost", "gap", []),
    ]  # fmt: skip
    publications = [
        {"cluster": "c", "topic": topic, "chunk_uuid": uuid, "state": state, "flags": flags, "first_ledger_id": 1,
            "first_entry_id": at}
        for topic in ("s", "t")
        for at, (uuid, state, flags) in enumerate(rows)
    ]  # fmt: skip
    ledgers = [{"cluster": "c", "topic": topic, "ledger_id": 1, "copy": "a"} for topic in ("s", "t")]
    found = ask("broken", given={"broken": {"broken": 2}}, chunked_messages=publications, ledgers=ledgers)["broken"]
    assert [(row["topic"], row["chunk_uuid"]) for row in found] == [
        ("s", "lost"), ("s", "late"), ("t", "lost"), ("t", "late"),
    ]  # fmt: skip


def test_topics_with_something_wrong_come_first_and_are_told_from_the_others(ask: Ask) -> None:
    sizes = {"large": 900, "warned": 10, "noted": 800, "broken": 5, "blocked": 1, "small": 2}
    facts = [{"cluster": "c", "topic": name, "ledger_id": at, "entries": 1, "bytes": size}
        for at, (name, size) in enumerate(sizes.items())]  # fmt: skip
    severities = {"warned": "warning", "noted": "info", "broken": "error"}
    findings = [{"cluster": "c", "topic": topic, "severity": word} for topic, word in severities.items()]
    stalled = {"cluster": "c", "topic": "blocked", "subscription": "s"}
    found = ask(
        "topics",
        ledgers=[{"cluster": "c", "topic": name, "ledger_id": at, "copy": "a"} for at, name in enumerate(sizes)],
        ledger_facts=facts, findings=findings, subscriptions=[{**SUBSCRIPTION, **stalled}],
        stalls=[{**stalled, "blocks_dispatch": True, "sureness": "certain"}],
    )["topics"]  # fmt: skip
    rows = sorted(found, key=lambda row: row["place"])
    assert [(row["topic"], row["is_wrong"] or False) for row in rows] == [
        ("blocked", True), ("broken", True), ("warned", True),  # what is wrong, however small
        ("large", False), ("noted", False), ("small", False),  # what is only noted is not wrong
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("quiet", "most", "drawn"),
    [
        (5, 9, 4),  # three are wrong: those, and the largest of the others
        (5, 2, 3),  # more are wrong than any report holds
        (6, 9, 6),  # few topics: all
        (5, 1, 2),  # a batch would hold more
    ],
)
def test_quiet_topics_beyond_a_bound_have_a_line(
    quiet: int, most: int, drawn: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_model, "QUIET_SECTIONS", quiet)
    monkeypatch.setattr(report_model, "MAX_SECTIONS", most)
    monkeypatch.setattr(report_model, "LARGEST_QUIET", 1)
    names = [f"t{at}" for at in range(6)]
    write_tables(
        tmp_path,
        ledgers=[{"cluster": "c", "topic": name, "ledger_id": at, "copy": "a"} for at, name in enumerate(names)],
        findings=[{"cluster": "c", "topic": name, "severity": "warning"} for name in names[3:]], runs=[],
    )  # fmt: skip
    context = job_context(out=tmp_path)
    monkeypatch.setattr(report_model, "MAX_TOPICS", 4)  # of a batch: the last one need not be whole
    with engines.query_engine(context) as asked:
        gathering = report_model.Gathering(context, asked)
        for name in ("families", "needs", "dangers"):
            gathering._keep(name)
        batches = [gathering._sections(0), *gathering.further()]
        sections = [one.topic for batch in batches for one in batch]
        lines = [one.topic for one in gathering.rest()]
    assert sections + lines == [*names[3:], *names[:3]]
    assert len(sections) == drawn


def test_times_are_cut_into_the_narrowest_powers_of_two(ask: Ask) -> None:
    cells = [{"start_ms": 1000 + 4 * at, "entries": 1, "bytes": 10, "chunk_entries": at % 2} for at in range(40)]
    facts = {"cluster": "c", "topic": "t", "ledger_id": 1, "entries": 40, "oldest_stored_ms": 1000,
        "newest_stored_ms": 1159, "cells": cells}  # fmt: skip
    found = ask(
        "buckets", given={"buckets": {"time_cells": 8}}, ledger_facts=[facts], **tables_of([Case("t", {1: 40})])
    )["buckets"]
    assert {row["bucket_ms"] for row in found} == {32}  # 16 would be 11 cells
    assert [row["start_ms"] for row in found] == [992, 1024, 1056, 1088, 1120, 1152]
    assert sum(row["entries"] for row in found) == 40
    assert sum(row["chunk_entries"] for row in found) == 20
