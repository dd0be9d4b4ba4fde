"""One advice on each subscription of the bundled backlog: every place tells it, and a real plan does just that."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from pulsar_backlog.options import Options
from pulsar_backlog.repair.acked_entries import entries_of_runs
from pulsar_backlog.repair.planning.folder import HELD_BACK_NAME
from pulsar_backlog.repair.planning.safety import MALFORMED, UNSURE, UNVERIFIED
from pulsar_backlog.repair.values import read_plan
from pulsar_backlog.report.acks import StallRow, SubscriptionFacts
from pulsar_backlog.report.model import ReportModel
from pulsar_backlog.report.result import result_json
from pulsar_backlog.report.terminal.summary import print_summary
from pulsar_backlog.report.verdict import judge
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.runs import now
from pulsar_backlog.sql.engines import query_engine
from pulsar_backlog.steps import report_model
from pulsar_backlog.subscriptions.advice import LABELS
from tests.auditing import OBJECTS, Audited, rows_of, run_job_of
from tests.jobs.test_plan_repair import run_plan
from tests.report.page_reader import Element, PageReader, front

NEEDS_SPARK = True

ALL = {"drawn": {"subscriptions": 10_000, "strips": 100_000}, "stalls": {"stalls": 10_000}}
"""So many are drawn and listed that nothing is left out."""
Key = tuple[str, str, str, int]
"""Topic, subscription, and uuid and publish time of a chunk set."""


def gathered(out: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, limits: dict[str, Any]) -> ReportModel:
    own = {name: {**report_model.LIMITS[name], **given} for name, given in limits.items()}
    monkeypatch.setattr(report_model, "LIMITS", {**report_model.LIMITS, **own})
    context = JobContext(lambda: spark, "write_report", Options(out=str(out), cluster="demo", fail_on="never"), now())
    with context.resources, query_engine(context) as asked:
        return report_model.Gathering(context, asked).model()


@pytest.fixture(scope="module")
def exported(bundled: Audited, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the audit, with all messages exported that can be."""
    out = tmp_path_factory.mktemp("advice") / "audit"
    shutil.copytree(bundled.out, out)
    run_job_of("export", "export_messages", OBJECTS, out, cluster="demo", fail_on="never")
    return out


@pytest.fixture(scope="module")
def model(exported: Path, spark: SparkSession) -> Iterator[ReportModel]:
    """The report's values, with every subscription and chunk set in it."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield gathered(exported, spark, monkeypatch, ALL)


def subscriptions(model: ReportModel) -> dict[tuple[str, str], SubscriptionFacts]:
    return {
        (section.topic, facts.row["subscription"]): facts
        for section in model.topics
        for facts in section.acks.subscriptions
        if section.topic is not None
    }


@dataclass(frozen=True)
class Done:
    """What a plan does: entries that it acknowledges, by subscription, and why it leaves chunk sets alone."""

    acknowledged: dict[tuple[str, str], set[tuple[int, int]]]
    held: dict[Key, str]
    resets: set[tuple[str, str]]


def done_by(out: Path, **options: Any) -> Done:
    run = run_plan(out, **options)
    assert run.exit_code == 0, run.stderr
    folder = Path(json.loads(run.stdout.splitlines()[0])["folder"])
    done = Done({}, {}, set())
    for action in read_plan(folder).actions:
        place = (action.topic, action.subscription or "")
        if action.kind == "acknowledge":
            done.acknowledged.setdefault(place, set()).update(entries_of_runs(action.runs).positions())
        elif action.kind == "reset_cursor":
            done.resets.add(place)
    for line in (folder / HELD_BACK_NAME).read_text().splitlines():
        row = json.loads(line)
        done.held[row["topic"], row["subscription"], row["chunk_uuid"], row["publish_time_ms"]] = row["why"]
    return done


def fate(done: Done, place: tuple[str, str], stall: StallRow) -> str:
    """What a plan does about a chunk set, in the words of needs."""
    why = done.held.get((*place, stall["chunk_uuid"], stall["publish_time_ms"]))
    if why is None:
        entries = {(one["ledger_id"], one["entry_id"]) for one in stall["unacked_positions"]}
        return "done" if entries <= done.acknowledged.get(place, set()) or place in done.resets else "nothing"
    if why.startswith((UNVERIFIED, MALFORMED)):
        return "keep"
    return "settle" if why.startswith(UNSURE) else "wait"


def fates(model: ReportModel, done: Done) -> set[tuple[str, str]]:
    """What chunk sets need, and what is done about them."""
    return {
        (stall["need"], fate(done, place, stall))
        for place, facts in subscriptions(model).items()
        for stall in facts.stalls
    }


def test_what_each_chunk_set_needs_is_what_a_plan_really_does(model: ReportModel, exported: Path) -> None:
    assert len([facts for facts in subscriptions(model).values() if facts.stalls]) > 100
    assert fates(model, done_by(exported)) == {
        ("export", "done"), ("acknowledge", "done"), ("keep", "keep"), ("settle", "settle"), ("wait", "wait"),
    }  # fmt: skip


def test_what_takes_a_decision_is_done_once_the_printed_options_are_given(model: ReportModel, exported: Path) -> None:
    named = {
        f"{stall['unacked_positions'][0]['ledger_id']}:{stall['unacked_positions'][0]['entry_id']}"
        for facts in subscriptions(model).values()
        for stall in facts.stalls
        if stall["need"] == "keep"
    }
    done = done_by(exported, give_up=tuple(sorted(named)), accept_unsure="likely")
    assert fates(model, done) == {
        ("export", "done"), ("acknowledge", "done"), ("keep", "done"), ("settle", "done"), ("wait", "wait"),
    }  # fmt: skip


def test_the_advice_counts_every_chunk_set(model: ReportModel) -> None:
    for place, facts in subscriptions(model).items():
        counts = {one.need: one.sets for one in facts.advice.needs}
        listed = [stall["need"] for stall in facts.stalls]
        assert counts == {need: listed.count(need) for need in set(listed)}, place


def test_nobody_is_told_to_wait_where_a_model_of_a_client_stops(model: ReportModel, exported: Path) -> None:
    unacked: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in rows_of(exported, "ack_ranges"):
        unacked.setdefault((row["topic"], row["ledger_id"]), []).append(row)
    stopped = {
        (row["topic"], run["subscription"])
        for row in rows_of(exported, "client_forecasts")
        if row["damage"] is not None
        for run in unacked.get((row["topic"], row["damage_ledger_id"]), ())
        if run["first_entry_id"] <= row["damage_entry_id"] <= run["last_entry_id"]
    }
    assert len(stopped) > 40
    idle = tuple(LABELS[need] for need in ("wait", "none"))
    for place, facts in subscriptions(model).items():
        assert (place in stopped) == bool(facts.advice.dangers), place
        if place in stopped:
            assert not facts.advice.label.startswith(idle), (place, facts.advice.label)


def test_every_place_of_a_report_tells_the_same(exported: Path, spark: SparkSession) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        model = gathered(exported, spark, monkeypatch, {})
    label = {place: facts.advice.label for place, facts in subscriptions(model).items()}
    result = json.loads(json.dumps(result_json(model)))
    for row in result["subscriptions"]["rows"]:
        assert row["advice"] == label.get((row["topic"], row["subscription"]), row["advice"])
    page = PageReader(front(model)).root
    (blocked,) = [one for one in page.all("section") if one.attrs.get("id") == "blocked"]
    for row, told in zip(model.acks.rows, blocked.all("tbody")[0].all("tr"), strict=False):
        own = label.get((row.topic, row.subscription), row.advice.label)  # not each of them is drawn
        assert told.children[3].full_text() == row.advice.label == own
    drawn = sections(page)
    assert len(drawn) > 50
    assert drawn.items() <= label.items()
    for step in judge(model).steps:
        if step.advice is not None:
            assert step.advice.label == label[step.topic or "", step.subscription or ""]
    (worst, *_) = [one.all("strong")[0].full_text() for one in page.all("ol")[0].all("li") if one.all("strong")]
    assert worst == model.acks.rows[0].advice.label
    shown = " ".join(printed(model).split())
    for row in model.acks.rows[:6]:
        assert f"[{row.topic}] {row.advice.label}" in shown


def sections(page: Element) -> dict[tuple[str, str], str]:
    """What the topics' sections advise, by topic and subscription."""
    found = {}
    for article in page.all("article"):
        topic = article.all("h3")[0].full_text().strip()
        for one in article.all("section"):
            advice = [p for p in one.all("p") if p.attrs.get("class") == "advice"]
            if advice:
                heading = one.all("h5")[0]
                name = "".join(bdi.full_text() for bdi in heading.children if bdi.tag == "bdi") or heading.text.strip()
                found[topic, name] = advice[0].all("strong")[0].full_text()
    return found


def printed(model: ReportModel) -> str:
    out = io.StringIO()
    print_summary(model, Console(file=out, width=400, highlight=False))
    return out.getvalue()


def test_worst_first_begins_with_the_topic_of_the_verdict(model: ReportModel) -> None:
    headline = judge(model).headline
    first = PageReader(front(model)).root.all("article")[0].all("h3")[0].full_text().strip()
    assert f"Worst: {first}, {model.acks.rows[0].subscription}, at " in headline
    assert headline.startswith("50 subscriptions are stalled (16 likely, 34 possible).")


def test_the_exit_code_says_why_it_is_0(model: ReportModel) -> None:
    assert "Exit code 0, because --fail-on never; errors were found" in printed(model)
