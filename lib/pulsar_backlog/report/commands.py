"""The next command, ready to copy: what puts a stall right, and the catalogue's templates, in the user's own names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from glob import escape

from pulsar_backlog.findings import CATALOGUE
from pulsar_backlog.foreign_text import shell_word
from pulsar_backlog.options import OPTIONS
from pulsar_backlog.report.model import FindingRow, ReportModel
from pulsar_backlog.report.words import position
from pulsar_backlog.subscriptions.advice import REPAIRED, Need
from pulsar_backlog.terms import Position, position_text

MAX_TOPIC = 1000
"""Characters of a topic name that a command can hold."""

READS_ONLY = "Changes nothing: it only reads."

_PLACEHOLDER = re.compile(r"\b(?:LEDGER:ENTRY|SOURCE|SUBJECT|OUT)\b")
_BY_LEDGER = " WHERE ledger_id = SUBJECT"
_POSITION = re.compile(r"\d+:\d+\Z", re.ASCII)


@dataclass(frozen=True)
class Audited:
    """What commands have to say of an audit.

    Attributes:
        source: where its ledgers lie.
        out: the folder of its tables.
        cluster: its name in the tables.
        endpoint: of the bucket's service, where it is not the cloud's own.
    """

    source: str
    out: str
    cluster: str | None = None
    endpoint: str | None = None

    @property
    def source_words(self) -> str:
        """The source and how it is reached."""
        return f"{_source(self.source, self.out)}{self._endpoint}"

    @property
    def export_words(self) -> str:
        """The tables to export from, and how their source is reached."""
        return f"{shell_word(self.out)}{self.cluster_words}{self._endpoint}"

    @property
    def cluster_words(self) -> str:
        """The cluster, where a command that is not told takes another."""
        named = self.cluster not in (None, OPTIONS["cluster"].words.default)
        return f" --cluster {shell_word(str(self.cluster))}" if named else ""

    @property
    def _endpoint(self) -> str:
        return f" --endpoint {shell_word(self.endpoint)}" if self.endpoint else ""


@dataclass(frozen=True)
class Command:
    """A command to copy, and in one line what it changes."""

    text: str
    changes: str


def audited(model: ReportModel) -> Audited:
    """What commands have to say of a report's audit."""
    return Audited(model.source, model.out, model.cluster, model.options.get("endpoint"))


def remedies(
    need: Need, audit: Audited, topic: str, subscription: str, at: Sequence[Position], accepted: str = "likely"
) -> tuple[Command, ...]:
    """What puts a stalled subscription right, in order; what cannot be decided yet begins with a look at the entry.

    Args:
        need: of its chunk sets.
        audit: where everything lies.
        topic: of the subscription.
        subscription: its name.
        at: of some of these chunk sets an entry each that is not acknowledged.
        accepted: how unsure the loss of what is unsure is, for `--accept-unsure`.
    """
    chosen = f" --topic {_name_word(topic, 'TOPIC')}"
    export = Command(
        f"pulsar-backlog export {audit.export_words}{chosen}",
        "Changes nothing on the cluster: it writes the verified messages to the audit's folder.",
    )
    plan = Command(
        f"pulsar-backlog repair plan {shell_word(audit.out)}{audit.cluster_words}{chosen} --subscription "
        f"{_name_word(subscription, 'SUBSCRIPTION')}",
        "Changes nothing on the cluster: it writes a plan and names the command that applies it.",
    )
    places = list(map(position_text, at)) or ["LEDGER:ENTRY"]
    explain = Command(f"pulsar-backlog explain {audit.source_words} {places[0]}", READS_ONLY)
    if need == "keep":
        return export, replace(plan, text=plan.text + "".join(f" --give-up {place}" for place in places))
    if need == "settle":
        return explain, replace(plan, text=f"{plan.text} --accept-unsure {accepted}")
    if need in REPAIRED:
        return (export, plan) if need == "export" else (plan,)
    return (explain,)


def fill(template: str, audit: Audited, finding: FindingRow | None) -> str:
    """The command of a `FindingKind` with its placeholders replaced, each quoted for a shell.

    What the finding does not say stays a placeholder (`LEDGER:ENTRY`, `TOPIC`); a condition on an
    unknown ledger is left out.
    """
    ledger_id = finding["ledger_id"] if finding else None
    where = "" if ledger_id is None else f" WHERE ledger_id = {int(ledger_id)}"
    values: dict[str, Callable[[], str]] = {
        "SOURCE": lambda: audit.source_words,
        "OUT": lambda: _out_words(template, audit),
        "SUBJECT": lambda: _topic_word(finding),
        "LEDGER:ENTRY": lambda: _first_position(finding),
    }
    return _PLACEHOLDER.sub(lambda match: values[match.group()](), template.replace(_BY_LEDGER, where))


def _name_word(name: str, unknown: str) -> str:
    """A glob that matches exactly this name; a placeholder for one that no command can hold."""
    return shell_word(escape(name)) if len(name) <= MAX_TOPIC else unknown


def _out_words(template: str, audit: Audited) -> str:
    """The folder of the tables, and of which cluster, for a command that takes another where it is not told."""
    command = template.split()[1]
    if command == "export":
        return audit.export_words
    return f"{shell_word(audit.out)}{audit.cluster_words if command == 'audit' else ''}"


def changes_of(template: str) -> str:
    """What the command of a `FindingKind` changes."""
    words = template.split()
    if words[0] == "pulsar-admin":
        return READS_ONLY if "stats-internal" in words else "Changes the topic: the broker moves ledgers to the store."
    if words[1] in ("export", "audit"):
        return "Changes nothing on the cluster: it writes to the audit's folder."
    return READS_ONLY


def all_findings(out: str, code: str) -> str:
    """The command that lists every finding of a code."""
    where = f" WHERE code = '{code}'" if code in CATALOGUE else ""
    return f'pulsar-backlog sql {shell_word(out)} "SELECT * FROM findings{where}"'  # noqa: S608 - shown, never run


def _topic_word(finding: FindingRow | None) -> str:
    topic = finding["topic"] if finding else None
    return shell_word(topic) if topic and len(topic) <= MAX_TOPIC else "TOPIC"


def _first_position(finding: FindingRow | None) -> str:
    if finding is None:
        return "LEDGER:ENTRY"
    own = position(finding["ledger_id"], finding["entry_id"])
    shown = [own] if own else [e for e in finding["evidence"] if _POSITION.match(e)]
    return shown[0] if shown else "LEDGER:ENTRY"


def _source(source: str, out: str) -> str:
    """The source as a command names it: brokers, with the snapshot that says what they hold."""
    if not source.startswith(("pulsar://", "pulsar+ssl://")):
        return shell_word(source)
    return f"{shell_word(source)} --admin {shell_word(f'{out}/live/begin')} --admin-url http://broker:8080"
