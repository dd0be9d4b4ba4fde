"""Repair plans on a terminal, as JSON lines and on their page: whom they are for first, and hostile names harmless."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import Any

from rich.console import Console

from pulsar_backlog.options.printed import Run
from pulsar_backlog.report.repair_page import render_repairs
from pulsar_backlog.report.terminal.repair import HeldBackRow, PlanView, action_facts, headline, json_lines, print_words

HOSTILE = "<script>alert(1)</script>\x1b[31m"
STEP = {
    "at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "who": "me@here", "status": "done", "note": "",
    "mark_delete": {"ledger_id": 1, "entry_id": 3}, "acked_entries": 2, "last_confirmed": None, "sequence_id": None,
}  # fmt: skip


def action(number: int = 0, **other: Any) -> dict[str, Any]:
    usual = {
        "cluster": "c", "plan_id": "abc", "action": number, "kind": "acknowledge", "cause": "dead_chunks",
        "topic": "persistent://t/n/one", "subscription": "sub", "codes": ["C24"], "sureness": "certain",
        "reason": "No client can receive these chunks.", "evidence": ["uuid 'p-0'"], "affects": "No other entry.",
        "undo": "Reset.", "requires": [], "runs": [{"ledger_id": 1, "first_entry_id": 0, "last_entry_id": 3}],
        "entries": 4, "bytes": 2048, "target": None, "expected_mark_delete": None, "original": None,
        "original_uuid": None, "payload_sha256": None, "state": "planned", "mark_delete_before": None,
        "mark_delete_after": None, "trail": [],
    }  # fmt: skip
    return usual | other


def plan_row(**other: Any) -> dict[str, Any]:
    usual = {
        "cluster": "c", "plan_id": "abc", "made": datetime(2026, 1, 2, tzinfo=UTC), "folder": "plans/abc",
        "choices": {}, "inputs": {}, "actions": 1, "entries": 4, "bytes": 2048, "left_off": 0,
        "held_back": [{"why": "it may still be arriving", "next_step": "wait", "count": 1234}], "state": "planned",
    }  # fmt: skip
    return usual | other


def words(view: PlanView) -> str:
    out = io.StringIO()
    print_words(view, Console(file=out, width=110))
    return out.getvalue()


def test_the_first_line_says_what_it_does_for_whom() -> None:
    rows = [
        action(kind="republish", subscription=None, entries=0, runs=[]),
        action(1),
        action(2, subscription="two", entries=1),
        action(3, kind="settings", subscription=None, entries=0, runs=[]),
    ]
    view = PlanView("abc", "/x/plans/abc", "planned", rows)
    line = headline(view)
    assert line.startswith("Plan abc (planned): republish 1 message, acknowledge 5 entries on 2 subscriptions, ")
    assert line.endswith("settings for 1 topic.")
    assert " ".join(words(view).split()).startswith(line)


def test_the_next_command_follows_from_the_state() -> None:
    verbs = {state: words(PlanView("abc", "/x", state, [action()])) for state in ("begun", "done", "verified")}
    assert "repair apply /x" in verbs["begun"]
    assert "repair verify /x" in verbs["done"]
    assert "apply" not in verbs["verified"]
    assert "verify" not in verbs["verified"].partition("Next:")[2]


def test_the_next_command_reaches_the_brokers_that_the_audit_read() -> None:
    options = {"admin_url": "http://broker:8080", "token_file": "/my token", "cluster": "eu-1"}
    run = Run("pulsar://broker:6650", "/o", options)
    shown = words(PlanView("abc", "/x", "done", [action()], run=run))
    told = "--service-url pulsar://broker:6650 --admin-url http://broker:8080 --token-file '/my token'"
    assert f"pulsar-backlog repair verify /x {told}" in shown


def test_a_plan_in_a_bucket_is_copied_before_it_is_applied() -> None:
    shown = words(PlanView("abc", "s3://b/plans/abc", "planned", [action()]))
    assert "pulsar-backlog repair show s3://b/plans/abc --to abc" in shown
    assert "pulsar-backlog repair apply abc --admin-url" in shown


def test_a_plan_of_nothing_says_so() -> None:
    assert words(PlanView("abc", None, "planned", ())).strip() == "Nothing to repair."
    text = words(PlanView("abc", None, "planned", (), (HeldBackRow("it may still be arriving", "wait", 3),)))
    assert text.startswith("Nothing to repair now; 3 things left alone.")
    assert "3: it may still be arriving; wait" in text


def test_a_reason_is_said_once_for_neighbours() -> None:
    text = words(PlanView("abc", "/x", "planned", [action(0), action(1, subscription="two")]))
    assert text.count("No client can receive") == 1
    assert text.count("persistent://t/n/one") == 1
    assert "acknowledge on two, 4 entries, 2.0 KiB (certain)" in text


def test_a_long_plan_is_cut_and_says_so() -> None:
    text = words(PlanView("abc", "/x", "planned", [action(n) for n in range(50)], left_off=7))
    assert "And 10 more actions" in text
    assert "No room for 7 more actions" in text


def test_an_action_in_full_has_its_trail_in_utc() -> None:
    facts = action_facts(action(trail=[STEP], requires=[3, 4]))
    assert ("Entries", "4: 1:0-3") in facts
    assert ("Only after", "3, 4") in facts
    assert ("Done", "2026-01-02T03:04:05Z done by me@here, mark-delete 1:3") in facts


def test_names_from_a_topic_cannot_steer_a_terminal() -> None:
    text = words(PlanView("abc", "/x", "planned", [action(subscription=HOSTILE, topic=HOSTILE, reason=HOSTILE)]))
    assert "\x1b[31m" not in text
    assert "\\x1b[31m" in text


def test_json_lines_are_the_plan_its_actions_and_what_is_left() -> None:
    view = PlanView("abc", "/x", "planned", [action(trail=[STEP])], (HeldBackRow("why", "then", 2),))
    lines = [json.loads(line) for line in json_lines(view)]
    assert [line["record"] for line in lines] == ["repair_plan", "repair_action", "held_back"]
    assert lines[1]["trail"][0]["at"] == "2026-01-02T03:04:05Z"


def test_the_page_shows_each_plan_with_its_actions_and_escapes_them() -> None:
    rows = [action(subscription=HOSTILE, evidence=[HOSTILE], trail=[STEP], state="done"), action(plan_id="other")]
    page = render_repairs(HOSTILE, [plan_row(actions=3)], rows)
    assert HOSTILE not in page
    assert page.count("<script>") == 1  # ours
    assert "\x1b" not in page
    assert "Plan abc: planned" in page
    assert '<a href="report.html">The report</a>' in page
    assert "1 done" in page
    assert "2026-01-02T03:04:05Z done by me@here" in page
    assert "And 2 more actions" in page
    assert "1,234: it may still be arriving; wait" in page


def test_a_page_without_plans() -> None:
    assert "No plan was made" in render_repairs("c", [], [])
