"""What was done about a plan: its actions, journal and verdicts as rows of `repair_actions`, and as JSON for a ticket.

Neither holds a payload, a key or a property value; the plan itself does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pulsar_backlog.errors import UsageError
from pulsar_backlog.repair.acked_entries import entries_of_text
from pulsar_backlog.repair.applying.journal import Journal, Line
from pulsar_backlog.repair.values import NEVER_APPLIED, Action, Plan
from pulsar_backlog.terms import Position

VERIFIED_NAME = "verified.jsonl"
"""What `repair verify` said, a line per action and look: `number`, `verdict`, `note`, `at_ms`, `who`."""

TICKET_VERSION = 1
_VERDICTS = {"verified": "verified", "not yet": "not yet", "failed": "not verified"}

Row = Mapping[str, Any]


def action_rows(plan: Plan, journal: Journal, verdicts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of `repair_actions`, in the order of the plan."""
    return [
        _action_row(plan, action, journal.of(action), [line for line in verdicts if line["number"] == action.number])
        for action in plan.actions
    ]


def read_verdicts(folder: Path) -> list[Mapping[str, Any]]:
    """All that was said when the cluster was looked at; nothing when it never was.

    Raises:
        UsageError: the file is damaged.
    """
    path = folder / VERIFIED_NAME
    if not path.is_file():
        return []
    try:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        return [{name: line[name] for name in ("number", "verdict", "note", "at_ms", "who")} for line in lines]
    except (ValueError, TypeError, KeyError):
        raise UsageError(f"{path} is damaged: delete it and verify again") from None


def plan_state(rows: Iterable[Row]) -> str:
    """One word for a plan, from its actions."""
    states = [row["state"] for row in rows if row["kind"] not in NEVER_APPLIED]
    if any(state in ("failed", "not verified") for state in states):
        return "failed"
    for state, words in (("verified", {"verified"}), ("done", {"done", "already", "verified", "not yet"})):
        if states and set(states) <= words:
            return state
    return "planned" if set(states) <= {"planned"} else "begun"


def ticket(plan: Plan, rows: Sequence[Row]) -> str:
    """A plan and what was done about it as JSON."""
    body = {
        "version": TICKET_VERSION,
        "plan_id": plan.plan_id,
        "cluster": plan.cluster,
        "state": plan_state(rows),
        "actions": [{name: value for name, value in row.items() if name not in ("cluster", "plan_id")} for row in rows],
    }
    return json.dumps(body, indent=1, ensure_ascii=False, default=_time)


def _action_row(
    plan: Plan, action: Action, lines: Sequence[Line], verdicts: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    message = action.message
    begun = next((line for line in lines if line.status == "begun"), None)
    done = next((line for line in reversed(lines) if line.status in ("done", "already")), None)
    return {
        "cluster": plan.cluster,
        "plan_id": plan.plan_id,
        "action": action.number,
        "kind": action.kind,
        "cause": action.cause,
        "topic": action.topic,
        "subscription": action.subscription,
        "codes": list(action.codes),
        "sureness": action.sureness,
        "reason": action.reason,
        "evidence": list(action.evidence),
        "affects": action.affects,
        "undo": action.undo,
        "requires": list(action.requires),
        "runs": [
            {"ledger_id": r.ledger_id, "first_entry_id": r.first_entry_id, "last_entry_id": r.last_entry_id}
            for r in action.runs
        ],
        "entries": action.entry_count,
        "bytes": action.size_bytes,
        "target": _place(action.target),
        "expected_mark_delete": _place(action.expected_mark_delete),
        "original": _place(message.original) if message else None,
        "original_uuid": message.original_uuid if message else None,
        "payload_sha256": message.sha256 if message else None,
        "state": _state(action, lines, verdicts),
        "mark_delete_before": _place(begun.mark_delete) if begun else None,
        "mark_delete_after": _place(done.mark_delete) if done else None,
        "trail": sorted([*map(_step, lines), *map(_look, verdicts)], key=lambda step: step["at"]),
    }


def _state(action: Action, lines: Sequence[Line], verdicts: Sequence[Mapping[str, Any]]) -> str:
    newest = lines[-1] if lines else None
    if verdicts and (newest is None or verdicts[-1]["at_ms"] >= newest.at_ms):
        verdict = _VERDICTS.get(verdicts[-1]["verdict"], "not yet")
        # To be told that nothing was applied yet says less than the journal does.
        if verdict != "not yet" or (newest is not None and newest.status in ("done", "already")):
            return verdict
    begun = action.kind == "republish" and any(line.status == "begun" for line in lines)
    if newest is not None and newest.status == "refused" and begun:
        return "begun"  # it may be stored: that it was refused since does not tell, and no other plan may publish it
    return newest.status if newest is not None else "planned"


def _step(line: Line) -> Row:
    return {
        "at": _moment(line.at_ms),
        "who": line.who,
        "status": line.status,
        "note": line.note,
        "mark_delete": _place(line.mark_delete),
        "acked_entries": None if line.acked is None else len(entries_of_text(line.acked)),
        "last_confirmed": _place(line.last_confirmed),
        "sequence_id": line.sequence_id,
    }


def _look(line: Mapping[str, Any]) -> Row:
    nothing = dict.fromkeys(("mark_delete", "acked_entries", "last_confirmed", "sequence_id"))
    status = _VERDICTS.get(line["verdict"], "not yet")
    return {"at": _moment(line["at_ms"]), "who": line["who"], "status": status, "note": line["note"], **nothing}


def _moment(time_ms: int) -> datetime:
    return datetime.fromtimestamp(time_ms / 1000, UTC)


def _place(position: Position | None) -> dict[str, int] | None:
    return None if position is None else {"ledger_id": position[0], "entry_id": position[1]}


def _time(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(type(value).__name__)
