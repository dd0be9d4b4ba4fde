"""Repair plans for a terminal and as JSON lines: what it does for whom first, then each action, then what it leaves."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from pulsar_backlog.counting import counted
from pulsar_backlog.foreign_text import shell_word, visible
from pulsar_backlog.json_text import to_json
from pulsar_backlog.ledgers.live.service import is_service
from pulsar_backlog.options.printed import Run
from pulsar_backlog.report.words import byte_size
from pulsar_backlog.terminal import terminal

MAX_ACTIONS = 40
MAX_REASONS = 8
MAX_RUNS = 20
MAX_NUMBERS = 5

Row = Mapping[str, Any]
"""A row of `repair_actions`."""

_KINDS = {
    "acknowledge": "acknowledge",
    "skip": "skip",
    "acknowledge_cumulative": "acknowledge up to",
    "reset_cursor": "reset cursor",
    "unload": "unload topic",
    "republish": "republish",
    "file": "keep as file",
    "settings": "settings",
}
_STATE_STYLES = {"failed": "bold red", "not verified": "bold red", "refused": "bold yellow", "verified": "bold green"}


NO_RUN = Run("", "")
ANY_BROKERS = ("--admin-url http://BROKER:8080", "--service-url pulsar://BROKER:6650")
"""For a reader to fill in: offloaded objects do not say where their cluster is."""


@dataclass(frozen=True)
class HeldBackRow:
    """Why something is left alone, what would change that, and how often."""

    why: str
    next_step: str
    count: int


@dataclass(frozen=True)
class PlanView:
    """A plan as it is shown.

    Attributes:
        folder: of the plan; None when there was nothing to write.
        state: as in `repair_plans`.
        actions: rows of `repair_actions`.
        left_off: actions that the caps left no room for.
        run: the audit that it rests on; one without a source where that is not known.
        basis: how old the saved state is that it was made from, where an earlier audit was given it; else empty.
    """

    plan_id: str
    folder: str | None
    state: str
    actions: Sequence[Row]
    held_back: Sequence[HeldBackRow] = ()
    left_off: int = 0
    run: Run = NO_RUN
    basis: str = ""


def print_plan(view: PlanView) -> None:
    """A plan: words on a terminal, JSON lines elsewhere."""
    console = terminal()
    if console.is_terminal:
        print_words(view, console)
        return
    for line in json_lines(view):
        sys.stdout.write(line + "\n")


def print_action(row: Row) -> None:
    """One action in full: words on a terminal, JSON elsewhere."""
    console = terminal()
    if not console.is_terminal:
        sys.stdout.write(to_json(row, default=_time) + "\n")
        return
    for name, text in action_facts(row):
        _line(console, Text.assemble((f"{name}: ", "bold"), visible(text, 2000)))


def print_words(view: PlanView, console: Console) -> None:
    """A plan in words."""
    _line(console, Text(visible(headline(view)), style="bold"))
    doing = [row for row in view.actions if row["kind"] != "settings"]
    for topic, rows in groupby(doing[:MAX_ACTIONS], key=itemgetter("topic")):
        _line(console, Text(visible(topic), style="bold underline"))
        _print_actions(rows, console)
    if len(doing) > MAX_ACTIONS:
        _line(console, Text(f"And {counted(len(doing) - MAX_ACTIONS, 'more action')}, see the plan."))
    _print_settings([row for row in view.actions if row["kind"] == "settings"], console)
    if view.left_off:
        _line(console, Text(f"No room for {counted(view.left_off, 'more action')} (--max-count, --max-bytes)."))
    _print_held_back(view.held_back, console)
    if view.folder is not None:
        _line(console, Text("Next:", style="bold"))
        for command in next_commands(view):
            console.print(Text(f"  {command}"), soft_wrap=True, highlight=False)


def headline(view: PlanView) -> str:
    """The verdict, and how old what it rests on is."""
    if not view.actions:
        others = sum(one.count for one in view.held_back)
        text = f"Nothing to repair now; {counted(others, 'thing')} left alone." if others else "Nothing to repair."
    else:
        text = f"Plan {view.plan_id} ({view.state}): {counted_kinds(view.actions)}."
    return f"{text} {view.basis}".rstrip()


def counted_kinds(actions: Sequence[Row]) -> str:
    """What a plan does, counted."""
    kinds = Counter(row["kind"] for row in actions)
    names = {row["subscription"] for row in actions if row["entries"]}
    parts = []
    if kinds["republish"]:
        parts.append(f"republish {counted(kinds['republish'], 'message')}")
    if kinds["file"]:
        parts.append(f"keep {counted(kinds['file'], 'message')} as files")
    if kinds["reset_cursor"]:
        parts.append(f"reset {counted(kinds['reset_cursor'], 'cursor')}")
    if kinds["unload"]:
        parts.append(f"unload {counted(len({row['topic'] for row in actions if row['kind'] == 'unload'}), 'topic')}")
    entries = sum(row["entries"] for row in actions)
    if entries:
        parts.append(f"acknowledge {counted(entries, 'entry')} on {counted(len(names), 'subscription')}")
    if kinds["settings"]:
        parts.append(f"settings for {counted(kinds['settings'], 'topic')}")
    return ", ".join(parts) or "nothing"


def next_commands(view: PlanView) -> list[str]:
    """What to type next; a plan in a bucket is copied to a disk first, where its journal will be."""
    folder = shell_word(view.folder or "")
    first = view.actions[0]["action"] if view.actions else 0
    commands = [f"pulsar-backlog repair show {folder} --action {first}"]
    verb = {"verified": None, "done": "verify"}.get(view.state, "apply")
    if verb is not None and "://" in (view.folder or ""):
        commands.append(f"pulsar-backlog repair show {folder} --to {view.plan_id}")
        folder = view.plan_id
    if verb is not None:
        commands.append(" ".join((f"pulsar-backlog repair {verb} {folder}", *_connection(view.run, verb))))
    return commands


def _connection(run: Run, verb: str) -> Iterator[str]:
    """How `apply` and `verify` reach the cluster: as an audit of live topics did; words to fill in after others."""
    service = run.source if is_service(run.source) else run.options.get("live")
    yield from ANY_BROKERS if service is None else ("--service-url", shell_word(str(service)))
    yield from run.option_words(f"repair {verb}")


def json_lines(view: PlanView) -> Iterator[str]:
    """The plan, a line per action, a line per reason for leaving something alone."""
    head = {
        "record": "repair_plan", "plan_id": view.plan_id, "folder": view.folder, "state": view.state,
        "headline": headline(view), "actions": len(view.actions), "left_off": view.left_off,
    }  # fmt: skip
    yield to_json(head)
    for row in view.actions:
        yield to_json({"record": "repair_action", **row}, default=_time)
    for one in view.held_back:
        yield to_json({"record": "held_back", **asdict(one)})


def action_line(row: Row) -> str:
    """One action in a line, without its topic."""
    where = f" on {row['subscription']}" if row["subscription"] is not None else ""
    size = f", {counted(row['entries'], 'entry')}" if row["entries"] else ""
    bytes_ = f", {byte_size(row['bytes'])}" if row["bytes"] else ""
    after = f", after {', '.join(map(str, row['requires']))}" if row["requires"] else ""
    return f"{_KINDS.get(row['kind'], row['kind'])}{where}{size}{bytes_} ({row['sureness']}){after}"


def action_facts(row: Row) -> list[tuple[str, str]]:
    """All that is to be known of an action, name and text; what it lacks is left out."""
    runs = [_run(run) for run in row["runs"]]
    more = f" and {len(runs) - MAX_RUNS:,} more runs" if len(runs) > MAX_RUNS else ""
    facts = [
        ("Action", f"{row['action']} of plan {row['plan_id']}: {_KINDS.get(row['kind'], row['kind'])}, {row['state']}"),
        ("Topic", row["topic"]),
        ("Subscription", row["subscription"] or ""),
        ("Why", row["reason"]),
        ("Sure that nothing is lost", row["sureness"]),
        ("Findings", ", ".join(row["codes"])),
        ("Entries", f"{row['entries']:,}: {', '.join(runs[:MAX_RUNS])}{more}" if runs else ""),
        ("Bytes", f"{row['bytes']:,}" if row["bytes"] else ""),
        ("Reset to", _place(row["target"])),
        ("Mark-delete when planned", _place(row["expected_mark_delete"])),
        ("Original message", _place(row["original"])),
        ("SHA-256", row["payload_sha256"] or ""),
        ("Only after", ", ".join(map(str, row["requires"]))),
        ("Also affects", row["affects"]),
        ("To undo", row["undo"]),
    ]
    facts += [("Evidence", text) for text in row["evidence"]]
    facts += [("Done", trail_line(step)) for step in row["trail"]]
    return [(name, text) for name, text in facts if text]


def trail_line(step: Row) -> str:
    """One step of the audit trail."""
    mark = f", mark-delete {_place(step['mark_delete'])}" if step["mark_delete"] else ""
    return f"{moment(step['at'])} {step['status']} by {step['who']}{mark}{': ' if step['note'] else ''}{step['note']}"


def moment(at: datetime) -> str:
    """A moment in UTC; Spark gives them in the zone of this host, without its name."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _print_actions(rows: Iterable[Row], console: Console) -> None:
    """Actions of one topic; what was said of the one before is not said again."""
    before = ""
    for row in rows:
        _print_head(row, console)
        words = row["reason"]
        if row["kind"] in ("republish", "reset_cursor", "unload"):
            words = f"{words} {row['affects']}"
        if words != before:
            _indented(console, Text(visible(words, 800)), 4)
        before = words


def _print_head(row: Row, console: Console) -> None:
    head = Text(f"{row['action']:>3} ", style="bold")
    if row["state"] != "planned":
        head.append(f"{visible(row['state'])}: ", style=_STATE_STYLES.get(row["state"], "bold"))
    head.append(visible(action_line(row), 600), style="bold")
    _line(console, head)


def _print_settings(rows: Sequence[Row], console: Console) -> None:
    if not rows:
        return
    numbers = ", ".join(str(row["action"]) for row in rows[:MAX_NUMBERS])
    more = ", ..." if len(rows) > MAX_NUMBERS else ""
    noun = "action" if len(rows) == 1 else "actions"
    what = f"Settings that would have prevented this, for {counted(len(rows), 'topic')}: {noun} {numbers}{more}"
    _line(console, Text(f"{what}. They are advice."))


def _print_held_back(rows: Sequence[HeldBackRow], console: Console) -> None:
    if not rows:
        return
    _line(console, Text("Left alone:", style="bold"))
    for one in rows[:MAX_REASONS]:
        then = f"; {one.next_step}" if one.next_step else ""
        _indented(console, Text(visible(f"{one.count:,}: {one.why}{then}", 600)), 2)
    if len(rows) > MAX_REASONS:
        rest = sum(one.count for one in rows[MAX_REASONS:])
        _indented(console, Text(f"{rest:,} for other reasons, see held_back.jsonl in the plan's folder."), 2)


def _line(console: Console, text: Text) -> None:
    console.print(text, highlight=False, overflow="fold")


def _indented(console: Console, text: Text, columns: int) -> None:
    text.overflow = "fold"
    console.print(Padding(text, (0, 0, 0, columns), expand=False), highlight=False)


def _run(run: Row) -> str:
    last = f"-{run['last_entry_id']}" if run["last_entry_id"] > run["first_entry_id"] else ""
    return f"{run['ledger_id']}:{run['first_entry_id']}{last}"


def _place(position: Row | None) -> str:
    return "" if position is None else f"{position['ledger_id']}:{position['entry_id']}"


def _time(value: object) -> str:
    if isinstance(value, datetime):
        return moment(value)
    raise TypeError(type(value).__name__)
