"""Plans and journals as files: what comes back is what was written, and what was changed or cut short is noticed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pulsar_backlog.errors import UsageError
from pulsar_backlog.repair.acked_entries import entries_of_runs
from pulsar_backlog.repair.applying.journal import JOURNAL_NAME, Journal, Line, open_journal
from pulsar_backlog.repair.values import Action, Message, Plan, Run, payload_path, read_plan, write_plan

TOPIC = "persistent://t/n/ünï"
MESSAGE = Message((5, 3), "ab", 2, "u-1", "k", None, 12, {"a": "b"})
PLAN = Plan("c", (
    Action(0, "acknowledge", TOPIC, "r", "s", (Run(5, 3, 4),), expected_mark_delete=(5, 0), expected_type="Shared"),
    Action(1, "acknowledge", TOPIC, "r", "s", (Run(5, 8, 8),)),
    Action(2, "acknowledge", TOPIC, "r", "other", (Run(5, 8, 8),), requires=(0,)),
    Action(3, "republish", TOPIC, "r", message=MESSAGE),
))  # fmt: skip


def line(number: int, status: str, acked: list[Run] | None = None, **changes: object) -> Line:
    state = None if acked is None else entries_of_runs(acked).as_text()
    made = Line(f"{PLAN.plan_id}-{number}", number, status, 1, "me", acked=state)  # type: ignore[arg-type]
    return replace(made, **changes)  # type: ignore[arg-type]


def test_a_plan_comes_back(tmp_path: Path) -> None:
    write_plan(tmp_path, PLAN, {3: b"xy"})
    assert read_plan(tmp_path) == PLAN
    assert payload_path(tmp_path, 3).read_bytes() == b"xy"


def test_the_same_actions_make_the_same_plan() -> None:
    assert Plan("c", PLAN.actions).plan_id == PLAN.plan_id
    assert Plan("d", PLAN.actions).plan_id != PLAN.plan_id
    assert Plan("c", PLAN.actions[:3]).plan_id != PLAN.plan_id


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace('"last_entry_id": 4', '"last_entry_id": 9'), "was changed since it was made"),
        (lambda text: text[: text.rindex("\n", 0, -1) + 1], "was changed"),  # its last action is gone
        (lambda text: text[:-20], "is not a repair plan"),
        (lambda _: "", "is not a repair plan"),
        (lambda _: "[]\n", "is not a repair plan"),
    ],
)
def test_a_plan_that_was_changed(change: object, words: str, tmp_path: Path) -> None:
    write_plan(tmp_path, PLAN, {})
    path = tmp_path / "plan.jsonl"
    path.write_text(change(path.read_text()))  # type: ignore[operator]
    with pytest.raises(UsageError, match=words):
        read_plan(tmp_path)


def test_no_plan(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_plan(tmp_path)


def test_a_journal_comes_back(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, PLAN)
    lines = [
        line(0, "begun", [Run(5, 0, 0)], mark_delete=(5, 0), last_confirmed=(5, 9)),
        line(0, "done", [Run(5, 0, 4)], mark_delete=(5, 4)),
        line(3, "begun", sequence_id=7, last_confirmed=(5, 9)),
    ]
    for one in lines:
        journal.add(one)
    again = open_journal(tmp_path, PLAN)
    assert again.lines == lines
    assert [again.is_finished(action) for action in PLAN.actions] == [True, False, False, False]
    assert [again.is_unclear(action) for action in PLAN.actions] == [False, False, False, True]
    assert (again.last_sequence_id(TOPIC), again.last_sequence_id(TOPIC, PLAN.actions[0])) == (7, -1)


def test_what_was_begun_is_unclear_until_it_is_finished(tmp_path: Path) -> None:
    republish = PLAN.actions[3]
    journal = journal_of(tmp_path, line(3, "refused"))
    assert not journal.is_unclear(republish)  # nothing was tried
    journal.add(line(3, "begun", sequence_id=7, sealed_sha256="ab"))
    for status in ("failed", "refused"):  # that it is refused now does not tell whether it was stored then
        journal.add(line(3, status))
        assert journal.is_unclear(republish)
    journal.add(line(3, "done"))
    assert not journal.is_unclear(republish)
    assert open_journal(tmp_path, PLAN).lines == journal.lines


def test_a_line_that_a_kill_cut_short_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / JOURNAL_NAME
    open_journal(tmp_path, PLAN).add(line(0, "begun", [Run(5, 0, 0)]))
    whole = path.read_bytes()
    for cut in (1, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole + whole[:cut])
        again = open_journal(tmp_path, PLAN)
        assert len(again.lines) == 1
        assert path.read_bytes() == whole + whole[:cut]  # someone may be writing it right now
        with again.locked():
            again.add(line(0, "done", [Run(5, 0, 4)]))
        assert [one.status for one in open_journal(tmp_path, PLAN).lines] == ["begun", "done"]


def test_whoever_waits_for_the_journal_sees_what_was_done_meanwhile(tmp_path: Path) -> None:
    early = open_journal(tmp_path, PLAN)
    other = open_journal(tmp_path, PLAN)
    with other.locked():
        other.add(line(0, "done"))
    with early.locked():
        assert early.is_finished(PLAN.actions[0])


def test_a_journal_of_another_plan(tmp_path: Path) -> None:
    open_journal(tmp_path, PLAN).add(line(0, "begun"))
    with pytest.raises(UsageError, match="belongs to another plan"):
        open_journal(tmp_path, Plan("d", PLAN.actions))


@pytest.mark.parametrize("content", [b"{}\n", b"[]\n", b"x\n", b'{"number": 0}\n'])
def test_a_damaged_journal_stops_everything(content: bytes, tmp_path: Path) -> None:
    (tmp_path / JOURNAL_NAME).write_bytes(content)
    with pytest.raises(UsageError, match="is damaged"):
        open_journal(tmp_path, PLAN)


def journal_of(tmp_path: Path, *lines: Line) -> Journal:
    journal = open_journal(tmp_path, PLAN)
    for one in lines:
        journal.add(one)
    return journal


def test_the_state_that_drift_is_measured_from(tmp_path: Path) -> None:
    journal = journal_of(
        tmp_path,
        line(0, "begun", [Run(5, 0, 0)], mark_delete=(5, 0)),
        line(0, "done", [Run(5, 0, 4)], mark_delete=(5, 4)),
        line(1, "begun", [Run(5, 0, 4)], mark_delete=(5, 4)),
        line(2, "refused"),
    )
    baseline = journal.baseline(PLAN.actions[1])
    assert baseline is not None
    assert list(baseline.acked.positions()) == [(5, n) for n in range(5)]
    assert list(baseline.own.positions()) == [(5, 8)]  # its end is not known
    original = journal.original(PLAN.actions[1])
    assert original is not None
    assert list(original.acked.positions()) == [(5, 0)]
    assert journal.baseline(PLAN.actions[2]) is None  # another subscription
    journal.add(line(1, "done", [Run(5, 0, 4)]))
    baseline = journal.baseline(PLAN.actions[1])
    assert baseline is not None
    assert len(baseline.own) == 0  # what it did stands in `acked`, or it did not


def test_two_at_once(tmp_path: Path) -> None:
    journal = journal_of(tmp_path)
    with journal.locked(), pytest.raises(UsageError, match="another apply"), open_journal(tmp_path, PLAN).locked():
        pass
