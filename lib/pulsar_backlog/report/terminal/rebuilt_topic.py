"""What `rebuild-topic` would publish or did, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from pulsar_backlog.counting import counted
from pulsar_backlog.foreign_text import MAX_SENTENCE, shell_word, visible
from pulsar_backlog.json_text import to_json

_LEFT_OUT = {
    "markers": "written by brokers for themselves: left out",
    "uncommitted": "of transactions that never committed: left out",
    "changed": "published without the old topic's transaction and schema version",
}


def print_rebuilt_topic(result: Mapping[str, Any], console: Console) -> None:
    """The verdict first; JSON where no one looks.

    Args:
        result: fields of `repair.rebuilding.tally.Tally`, and what was done.
        console: where to print.
    """
    if not console.is_terminal:
        console.file.write(to_json(dict(result)) + "\n")
        return
    old, new = visible(result["topic"] or "A topic that nothing names", MAX_SENTENCE), visible(result["to_topic"])
    what = f"{counted(result['entries'], 'entry')}, {result['entry_bytes']:,} bytes"
    console.print(Text(_verdict(result, old, new, what), style="bold"), soft_wrap=True)
    for name, words in _LEFT_OUT.items():
        if result[name]:
            console.print(f"{counted(result[name], 'entry')} {words}.")
    if result["damaged"]:
        console.print(f"{counted(result['damaged'], 'entry')} {unusable_words(result['undecided'])}:")
        for place in result["places"]:
            console.print(f"  {visible(place)}")
    for ledger_id in result["open_ledgers"]:
        console.print(
            f"Nothing tells where ledger {ledger_id} ends (--admin may): what the source has is taken for all."
        )
    for line in _next(result, new):
        console.print(line, soft_wrap=True, highlight=False)


def unusable_words(undecided: int) -> str:
    """What is wrong with entries that are not published, where so many are of transactions that nothing decides."""
    if not undecided:
        return "damaged or missing"
    return f"damaged, missing, or of transactions that are not known to be committed ({undecided:,})"


def _verdict(result: Mapping[str, Any], old: str, new: str, what: str) -> str:
    if not result["done"]:
        return f"Dry run, nothing was changed. {old} would be published into {new}: {what}."
    again = f" ({result['published_before']:,} were there already)" if result["published_before"] else ""
    return f"{new} holds {what}{again}, read back and equal byte for byte to those of {old}."


def _next(result: Mapping[str, Any], new: str) -> tuple[str, ...]:
    if not result["done"]:
        return ("Say --yes and --service-url to publish.",)
    topic = shell_word(new)
    return (
        "Subscription pulsar-backlog-rebuild keeps it. Make yours at the beginning, then remove that one:",
        f"  pulsar-admin topics create-subscription -s SUBSCRIPTION -m earliest {topic}",
        f"  pulsar-admin topics unsubscribe -s pulsar-backlog-rebuild {topic}",
    )
