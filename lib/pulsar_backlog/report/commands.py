"""The next command, ready to copy: the catalogue's templates with the user's own paths and positions."""

from __future__ import annotations

import re
from collections.abc import Callable

from pulsar_backlog.findings import CATALOGUE
from pulsar_backlog.foreign_text import shell_word
from pulsar_backlog.report.model import FindingRow
from pulsar_backlog.report.words import position

MAX_TOPIC = 1000
"""Characters of a topic name that a command can hold."""

_PLACEHOLDER = re.compile(r"\b(?:LEDGER:ENTRY|SOURCE|SUBJECT|OUT)\b")
_BY_LEDGER = " WHERE ledger_id = SUBJECT"
_POSITION = re.compile(r"\d+:\d+\Z", re.ASCII)


def fill(template: str, *, source: str, out: str, finding: FindingRow | None) -> str:
    """The command of a `FindingKind` with its placeholders replaced, each quoted for a shell.

    What the finding does not say stays a placeholder (`LEDGER:ENTRY`, `TOPIC`); a condition on an
    unknown ledger is left out.
    """
    ledger_id = finding["ledger_id"] if finding else None
    where = "" if ledger_id is None else f" WHERE ledger_id = {int(ledger_id)}"
    values: dict[str, Callable[[], str]] = {
        "SOURCE": lambda: _source(source, out),
        "OUT": lambda: shell_word(out),
        "SUBJECT": lambda: _topic_word(finding),
        "LEDGER:ENTRY": lambda: _first_position(finding),
    }
    return _PLACEHOLDER.sub(lambda match: values[match.group()](), template.replace(_BY_LEDGER, where))


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
