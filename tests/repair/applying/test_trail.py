"""What was done about a plan, as rows and as JSON: the newest word counts, and nothing private is in it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.errors import UsageError
from pulsar_backlog.repair.applying.journal import Line, open_journal
from pulsar_backlog.repair.applying.trail import VERIFIED_NAME, action_rows, plan_state, read_verdicts, ticket
from pulsar_backlog.repair.values import Action, Message, Plan, Run, write_plan

PLAN = Plan(
    "c",
    (
        Action(
            0, "republish", "persistent://t/n/one", "why", cause="lost_by_clients", size_bytes=5,
            message=Message((1, 9), "ab", 5, "p-0", key="secret-key", properties={"a": "secret-value"}),
        ),
        Action(1, "acknowledge", "persistent://t/n/one", "why", "sub", (Run(1, 0, 3),), requires=(0,)),
        Action(2, "settings", "persistent://t/n/one", "why", cause="settings"),
    ),
)  # fmt: skip


def line(number: int, status: str, at_ms: int, **other: Any) -> Line:
    return Line(PLAN.action_id(PLAN.actions[number]), number, status, at_ms, "me@here", **other)  # type: ignore[arg-type]


def verdict(number: int, word: str, at_ms: int) -> dict[str, Any]:
    return {"number": number, "verdict": word, "note": "looked", "at_ms": at_ms, "who": "me@here"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_plan(tmp_path, PLAN, {0: b"x"})
    return tmp_path


def rows_after(folder: Path, *lines: Line, verdicts: tuple[dict[str, Any], ...] = ()) -> list[dict[str, Any]]:
    journal = open_journal(folder, PLAN)
    for one in lines:
        journal.add(one)
    with (folder / VERIFIED_NAME).open("a") as stream:
        stream.writelines(json.dumps(one) + "\n" for one in verdicts)
    return action_rows(PLAN, open_journal(folder, PLAN), read_verdicts(folder))


def test_a_plan_that_nobody_applied(folder: Path) -> None:
    rows = rows_after(folder)
    assert [(row["state"], row["trail"]) for row in rows] == [("planned", [])] * 3
    assert rows[1]["runs"] == [{"ledger_id": 1, "first_entry_id": 0, "last_entry_id": 3}]
    assert (rows[1]["entries"], rows[1]["requires"]) == (4, [0])
    assert plan_state(rows) == "planned"


def test_before_and_after_are_the_first_intent_and_the_last_result(folder: Path) -> None:
    rows = rows_after(
        folder,
        line(1, "begun", 1000, mark_delete=(1, -1)),
        line(1, "failed", 2000, note="connection lost", mark_delete=(1, 1)),
        line(1, "begun", 3000, mark_delete=(1, 1)),
        line(1, "done", 4000, mark_delete=(1, 3)),
    )
    assert rows[1]["state"] == "done"
    assert rows[1]["mark_delete_before"] == {"ledger_id": 1, "entry_id": -1}
    assert rows[1]["mark_delete_after"] == {"ledger_id": 1, "entry_id": 3}
    assert [step["status"] for step in rows[1]["trail"]] == ["begun", "failed", "begun", "done"]
    assert plan_state(rows) == "begun"


@pytest.mark.parametrize(
    ("status", "said", "state"),
    [
        ("done", verdict(1, "verified", 5000), "verified"),
        ("done", verdict(1, "failed", 5000), "not verified"),
        ("done", verdict(1, "not yet", 5000), "not yet"),
        # The look was before the last apply: what that says counts.
        ("done", verdict(1, "failed", 3000), "done"),
        # A look says less than the journal where nothing was done.
        ("refused", verdict(1, "not yet", 5000), "refused"),
    ],
)
def test_a_look_at_the_cluster_counts_when_it_came_last(
    folder: Path, status: str, said: dict[str, Any], state: str
) -> None:
    rows = rows_after(folder, line(1, "begun", 3500), line(1, status, 4000), verdicts=(said,))
    assert rows[1]["state"] == state
    assert len(rows[1]["trail"]) == 3


def test_a_publication_that_was_begun_and_then_refused_may_be_stored(folder: Path) -> None:
    assert PLAN.actions[0].kind == "republish"
    assert rows_after(folder, line(0, "refused", 1000))[0]["state"] == "refused"
    assert rows_after(folder, line(0, "begun", 2000), line(0, "refused", 3000))[0]["state"] == "begun"


def test_one_word_for_the_plan_leaves_advice_out(folder: Path) -> None:
    lines = [line(n, status, 1000 + n) for n in (0, 1) for status in ("begun", "done")]
    assert plan_state(rows_after(folder, *lines)) == "done"
    assert plan_state(rows_after(folder, verdicts=(verdict(0, "verified", 9000),))) == "done"
    assert plan_state(rows_after(folder, verdicts=(verdict(1, "verified", 9000),))) == "verified"
    assert plan_state(rows_after(folder, verdicts=(verdict(1, "failed", 9001),))) == "failed"


def test_a_ticket_names_no_key_and_no_property_value(folder: Path) -> None:
    rows = rows_after(folder, line(0, "begun", 1000, sequence_id=0), line(0, "done", 2000, note="stored at 1:12"))
    text = ticket(PLAN, rows)
    body = json.loads(text)
    assert "secret" not in text
    assert (body["version"], body["plan_id"], body["state"]) == (1, PLAN.plan_id, "begun")
    assert body["actions"][0]["trail"][1] | {"at": ""} == {
        "at": "", "who": "me@here", "status": "done", "note": "stored at 1:12", "mark_delete": None,
        "acked_entries": None, "last_confirmed": None, "sequence_id": None,
    }  # fmt: skip
    assert body["actions"][0]["trail"][1]["at"].startswith("1970-01-01T00:00:02")


def test_damaged_verdicts_are_a_mistake_to_mend(folder: Path) -> None:
    (folder / VERIFIED_NAME).write_text('{"number": 1}\n')
    with pytest.raises(UsageError, match="verify again"):
        read_verdicts(folder)


def test_an_actions_requirements_are_part_of_the_plans_name() -> None:
    other = Plan("c", (PLAN.actions[0], replace(PLAN.actions[1], requires=()), PLAN.actions[2]))
    assert other.plan_id != PLAN.plan_id
