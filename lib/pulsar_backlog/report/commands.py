"""The next command, ready to copy: what puts a stall right, and the catalogue's templates, in the user's own names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from glob import escape

from pulsar_backlog.findings import CATALOGUE
from pulsar_backlog.foreign_text import shell_word
from pulsar_backlog.options.printed import Run, options_of
from pulsar_backlog.report.model import FindingRow, ReportModel
from pulsar_backlog.report.words import position
from pulsar_backlog.subscriptions.advice import REPAIRED, Need
from pulsar_backlog.terms import Position, position_text
from pulsar_backlog.wire.names import is_segment

MAX_TOPIC = 1000
"""Characters of a topic name that a command can hold."""

READS_ONLY = "Changes nothing: it only reads."

_PLACEHOLDER = re.compile(r"\b(?:LEDGER:ENTRY|SUBJECT)\b")
_BY_LEDGER = " WHERE ledger_id = SUBJECT"
_POSITION = re.compile(r"\d+:\d+\Z", re.ASCII)


@dataclass(frozen=True)
class Command:
    """A command to copy, and in one line what it changes."""

    text: str
    changes: str


def run_of(model: ReportModel) -> Run:
    """The run that a report is of."""
    options = {**options_of(model.options), "cluster": model.cluster}
    return Run(model.source, model.out, options, model.one_cluster)


def remedies(
    need: Need, run: Run, topic: str, subscription: str, at: Sequence[Position], accepted: str = "likely"
) -> tuple[Command, ...]:
    """What puts a stalled subscription right, in order; what cannot be decided yet begins with a look at the entry.

    Args:
        need: of its chunk sets.
        run: the audit.
        topic: of the subscription.
        subscription: its name.
        at: of some of these chunk sets an entry each that is not acknowledged.
        accepted: how unsure the loss of what is unsure is, for `--accept-unsure`.
    """
    chosen = f"--topic {_name_word(topic, 'TOPIC')}"
    export = Command(
        run.command("export", chosen),
        "Changes nothing on the cluster: it writes the verified messages to the audit's folder.",
    )
    plan = Command(
        run.command("repair plan", chosen, f"--subscription {_name_word(subscription, 'SUBSCRIPTION')}"),
        "Changes nothing on the cluster: it writes a plan and names the command that applies it.",
    )
    places = list(map(position_text, at)) or ["LEDGER:ENTRY"]
    explain = Command(run.command("explain", places[0]), READS_ONLY)
    if is_segment(topic):  # no plan touches one
        return (export,) if need in ("keep", "export") else (explain,)
    if need == "keep":
        return export, replace(plan, text=plan.text + "".join(f" --give-up {place}" for place in places))
    if need == "settle":
        return explain, replace(plan, text=f"{plan.text} --accept-unsure {accepted}")
    if need in REPAIRED:
        return (export, plan) if need == "export" else (plan,)
    return (explain,)


def fill(template: str, run: Run, finding: FindingRow | None) -> str:
    """The command of a `FindingKind` with its placeholders replaced, each quoted for a shell.

    What the finding does not say stays a placeholder (`LEDGER:ENTRY`, `TOPIC`); a condition on an
    unknown ledger is left out.
    """
    ledger_id = finding["ledger_id"] if finding else None
    where = "" if ledger_id is None else f" WHERE ledger_id = {int(ledger_id)}"
    values: dict[str, Callable[[], str]] = {
        "SUBJECT": lambda: _topic_word(finding),
        "LEDGER:ENTRY": lambda: _first_position(finding),
    }
    text = _PLACEHOLDER.sub(lambda match: values[match.group()](), template.replace(_BY_LEDGER, where))
    return run.fill(text)


def _name_word(name: str, unknown: str) -> str:
    """A glob that matches exactly this name; a placeholder for one that no command can hold."""
    return shell_word(escape(name)) if len(name) <= MAX_TOPIC else unknown


def changes_of(template: str) -> str:
    """What the command of a `FindingKind` changes."""
    words = template.split()
    if words[0] == "pulsar-admin":
        return READS_ONLY if "stats-internal" in words else "Changes the topic: the broker moves ledgers to the store."
    if words[1] in ("export", "audit"):
        return "Changes nothing on the cluster: it writes to the audit's folder."
    return READS_ONLY


def all_findings(run: Run, code: str) -> str:
    """The command that lists every finding of a code."""
    where = f" WHERE code = '{code}'" if code in CATALOGUE else ""
    return run.command("sql", f'"SELECT * FROM findings{where}"')  # noqa: S608 - shown, never run


def _topic_word(finding: FindingRow | None) -> str:
    topic = finding["topic"] if finding else None
    return shell_word(topic) if topic and len(topic) <= MAX_TOPIC else "TOPIC"


def _first_position(finding: FindingRow | None) -> str:
    if finding is None:
        return "LEDGER:ENTRY"
    own = position(finding["ledger_id"], finding["entry_id"])
    shown = [own] if own else [e for e in finding["evidence"] if _POSITION.match(e)]
    return shown[0] if shown else "LEDGER:ENTRY"
