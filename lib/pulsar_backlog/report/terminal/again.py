"""The verdict of the last report, for a run that found nothing new: from result.json, without asking the tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pulsar_backlog.findings import SEVERITIES
from pulsar_backlog.foreign_text import MAX_HEADLINE, MAX_SENTENCE, visible
from pulsar_backlog.terms import EXIT_FINDINGS, EXIT_INCOMPLETE, EXIT_UNCHANGED

if TYPE_CHECKING:
    from rich.console import Console

Saved = dict[str, Any]
"""A result.json, see docs/result.md."""


def verdict_again(result: Mapping[str, Any], fail_on: str | None, asked_for: int | None = None) -> Saved:
    """The first line of a result: its verdict, with the exit code that `fail_on` asks for now.

    Args:
        result: of the last audit.
        fail_on: as given; what the audit before did not find is no news now.
        asked_for: the exit code that the tables ask for, where some of the findings are acknowledged.
    """
    fields = {name: result[name] for name in ("schema_version", "cluster", "verdict", "counts", "next")}
    codes = result["findings"]["by_code"]
    bad = SEVERITIES[: SEVERITIES.index(fail_on) + 1] if fail_on in SEVERITIES else ()
    exit_code = EXIT_UNCHANGED
    if any(code["severity"] in bad for code in codes):
        exit_code = EXIT_FINDINGS
    if any(code["incomplete"] for code in codes):
        exit_code = EXIT_INCOMPLETE
    if asked_for is not None:
        exit_code = asked_for or EXIT_UNCHANGED
    return {"type": "verdict", **fields, "exit_code": exit_code, "unchanged": True}


def print_again(saved: Mapping[str, Any], console: Console) -> None:
    """Verdict, how sure it is, and the next command."""
    from rich.text import Text  # noqa: PLC0415 - who reads JSON lines does without

    verdict = saved["verdict"]
    for line in (verdict["headline"], verdict["sureness"], "Nothing new to do: this is what the last audit found."):
        console.print(Text(visible(line, MAX_HEADLINE)), highlight=False)
    steps = [step for step in saved["next"] if step.get("subscription") is not None] or saved["next"][:1]
    for step in steps:
        if step.get("advice"):
            name = visible(step["subscription"], MAX_SENTENCE)
            console.print(Text(f"Subscription {name}: {visible(step['advice'], MAX_SENTENCE)}"), highlight=False)
        console.print(Text(f"Next: {visible(step['command'], MAX_SENTENCE)}"), soft_wrap=True, highlight=False)
