"""What apply did: an intent before each action, a result after it, each on disk before anything goes on.

A killed apply leaves an intent without a result. The next one reads the live state, and either finds the action done
and notes it, or does it; nothing is done twice.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pulsar_backlog.errors import UsageError
from pulsar_backlog.json_text import to_json
from pulsar_backlog.repair.acked_entries import Entries, entries_of_runs, entries_of_text
from pulsar_backlog.repair.applying.drift import Baseline
from pulsar_backlog.repair.values import Action, Plan
from pulsar_backlog.terms import Position

JOURNAL_NAME = "journal.jsonl"

Status = Literal["begun", "done", "already", "refused", "failed"]
"""`begun` is an intent; `already`: there was nothing left to do; `failed`: it was tried, and the outcome is not as it
should be. The last three may be tried again."""


@dataclass(frozen=True)
class Line:
    """One line.

    Attributes:
        action_id: `Plan.action_id`.
        number: of the action.
        status: see `Status`.
        at_ms: when.
        who: user and host that applied it.
        note: reasons of a refusal, words of a failure, the position of what was published.
        mark_delete: of the subscription at that moment; None where there is none.
        acked: its acknowledged entries from mark-delete's ledger on, as `Entries.as_text`; None where there is none.
        last_confirmed: end of the topic's log at that moment.
        sequence_id: with which a message is published; None where nothing is.
        sealed_sha256: digest of what is published as it is stored, see `stored.sealed_sha256`; None where nothing is.
    """

    action_id: str
    number: int
    status: Status
    at_ms: int
    who: str
    note: str = ""
    mark_delete: Position | None = None
    acked: dict[str, str] | None = None
    last_confirmed: Position | None = None
    sequence_id: int | None = None
    sealed_sha256: str | None = None


class Journal:
    """The journal of one plan.

    Attributes:
        lines: all, oldest first.
    """

    def __init__(self, path: Path, plan: Plan, lines: list[Line]) -> None:
        self.lines = lines
        self._path = path
        self._plan = plan

    def add(self, line: Line) -> None:
        """Write a line to disk."""
        with self._path.open("ab") as stream:
            stream.write(to_json(asdict(line)).encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
        self.lines.append(line)

    def of(self, action: Action) -> list[Line]:
        """Lines of one action."""
        return [line for line in self.lines if line.number == action.number]

    def status(self, action: Action) -> Status | None:
        """The newest status of an action; None when it was never begun."""
        lines = self.of(action)
        return lines[-1].status if lines else None

    def is_finished(self, action: Action) -> bool:
        """Whether nothing is left to do."""
        return self.status(action) in ("done", "already")

    def is_unclear(self, action: Action) -> bool:
        """Whether an action was begun and nobody knows how that ended, whatever was said of it since."""
        return self.first_begun(action) is not None and not self.is_finished(action)

    def first_begun(self, action: Action) -> Line | None:
        """The first intent of an action."""
        return next((line for line in self.of(action) if line.status == "begun"), None)

    def last_sequence_id(self, topic: str, action: Action | None = None) -> int:
        """The highest that was used on a topic, or by one action; -1 when none was."""
        used = (
            line.sequence_id
            for line in (self.of(action) if action else self.lines)
            if line.sequence_id is not None and self._plan.actions[line.number].topic == topic
        )
        return max(used, default=-1)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the journal alone, as it is now, without what a kill cut short.

        Raises:
            UsageError: another apply of this plan holds it, or it is damaged.
        """
        with self._path.open("ab") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise UsageError(f"{self._path}: another apply of this plan is running: wait until it ends") from None
            self.lines, whole_bytes = _read(self._path, self._plan)
            os.truncate(self._path, whole_bytes)
            yield

    def baseline(self, action: Action) -> Baseline | None:
        """How the action's subscription stood when this plan last looked; None when it never did."""
        states = list(self._states(action.topic, action.subscription))
        if not states:
            return None
        newest, acked = states[-1]
        own = entries_of_runs(self._plan.actions[newest.number].runs) if newest.status == "begun" else Entries()
        return Baseline(newest.mark_delete[0] if newest.mark_delete else 0, acked, own)

    def original(self, action: Action) -> Baseline | None:
        """How the subscription stood before this plan touched it; None when it never did."""
        for line, acked in self._states(action.topic, action.subscription):
            return Baseline(line.mark_delete[0] if line.mark_delete else 0, acked, Entries())
        return None

    def _states(self, topic: str, subscription: str | None) -> Iterator[tuple[Line, Entries]]:
        for line in self.lines:
            action = self._plan.actions[line.number]
            if line.acked is not None and (action.topic, action.subscription) == (topic, subscription):
                yield line, entries_of_text(line.acked)


def open_journal(folder: Path, plan: Plan) -> Journal:
    """The journal beside a plan; new when there is none. To write to it, hold it (`locked`).

    Raises:
        UsageError: it belongs to another plan, or is damaged.
    """
    path = folder / JOURNAL_NAME
    lines, _ = _read(path, plan)
    return Journal(path, plan, lines)


def _read(path: Path, plan: Plan) -> tuple[list[Line], int]:
    """The whole lines, and their bytes; what a kill left behind them, or an apply is still writing, is not one."""
    content = path.read_bytes() if path.is_file() else b""
    whole = content[: content.rfind(b"\n") + 1]
    try:
        lines = [_line(json.loads(text)) for text in whole.splitlines()]
    except (ValueError, TypeError, KeyError):
        raise UsageError(
            f"{path} is damaged: nobody can tell what was done; compare the broker with the plan"
        ) from None
    if any(line.action_id != f"{plan.plan_id}-{line.number}" for line in lines):
        raise UsageError(f"{path} belongs to another plan: put each plan into a folder of its own")
    return lines, len(whole)


def _line(body: dict[str, Any]) -> Line:
    if not isinstance(body, dict):
        raise TypeError
    pairs = {name: tuple(body[name]) for name in ("mark_delete", "last_confirmed") if body[name] is not None}
    return Line(**{**body, **pairs})
