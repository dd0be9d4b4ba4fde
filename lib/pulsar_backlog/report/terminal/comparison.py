"""How two audits agree, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console

from pulsar_backlog.counting import counted
from pulsar_backlog.foreign_text import shell_word, visible
from pulsar_backlog.report.terminal.sentences import print_sentences

MOST_TOPICS = 20
"""Topics that are listed; result.json and `compared_topics` have all."""

VERDICTS = {
    "equal": "Both sides hold the same messages.",
    "explained": "Nothing is wrong: what only one side has is explained by policy, or may still arrive.",
    "differs": "The two sides do not hold the same messages.",
    "cannot_tell": "Nobody can tell whether both sides hold the same messages: parts could not be compared.",
}
_COUNTED = (
    ("missing_a", "missing in A"), ("missing_b", "missing in B"),
    ("broken_a", "broken in A"), ("broken_b", "broken in B"),
    ("content_both", "with other content"), ("duplicate_a", "too many in A"), ("duplicate_b", "too many in B"),
    ("order_both", "in another order"), ("policy_a", "not in A by policy"), ("policy_b", "not in B by policy"),
    ("in_flight_a", "perhaps on the way to A"), ("in_flight_b", "perhaps on the way to B"),
)  # fmt: skip

_QUERY = "SELECT * FROM differences"


@dataclass(frozen=True)
class ComparisonSummary:
    """What is printed.

    Attributes:
        verdict: on all topics.
        out: where the tables of the comparison are.
        out_a: of audit A.
        out_b: of audit B.
        topics: rows of `compared_topics`.
        subscriptions: rows of `compared_subscriptions`.
        findings: code, severity and sentence of each.
        exit_code: of the command.
    """

    verdict: str
    out: str
    out_a: str
    out_b: str
    topics: Sequence[Mapping[str, Any]]
    subscriptions: Sequence[Mapping[str, Any]]
    findings: Sequence[tuple[str, str, str]]
    exit_code: int


def print_comparison(summary: ComparisonSummary, console: Console) -> None:
    """Sentences on a terminal, one JSON line elsewhere."""
    print_sentences(_lines(summary), asdict(summary), console)


def _lines(summary: ComparisonSummary) -> Iterator[str]:
    yield VERDICTS[summary.verdict]
    yield f"A is {visible(summary.out_a)}; B is {visible(summary.out_b)}."
    sums = [sum(int(topic[f"messages_{side}"]) for topic in summary.topics) for side in ("a", "b")]
    messages = [counted(number, "message") for number in sums]
    yield f"{counted(len(summary.topics), 'topic')}; {messages[0]} in A, {messages[1]} in B."
    others = [topic for topic in summary.topics if topic["verdict"] != "equal"]
    for topic in others[:MOST_TOPICS]:
        yield f"  {visible(str(topic['topic']))}: {', '.join(parts_of(topic))}"
    if len(others) > MOST_TOPICS:
        yield f"  and {counted(len(others) - MOST_TOPICS, 'more topic')}; compared_topics has them all."
    unsure = sum(int(topic["unsure"]) for topic in summary.topics)
    if unsure:
        yield f"{counted(unsure, 'difference')} are not certain; their rows say why."
    yield from _failovers(summary.subscriptions)
    if others:
        yield "Message by message:"
        yield f'  pulsar-backlog sql {shell_word(summary.out)} "{_QUERY}"'


def _failovers(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What consumers would get again or skip, where they went to a side."""
    for side, name in (("a", "A"), ("b", "B")):
        mine = [row for row in rows if row["side"] == side]
        again = sum(row["again_messages"] or 0 for row in mine)
        skips = sum((row["acked_messages"] or 0) + (row["absent_messages"] or 0) for row in mine)
        if again or skips:
            would = f"get {counted(again, 'message')} again and skip {skips:,}"
            yield f"Consumers that went to {name} now would {would}; compared_subscriptions says of which subscription."


def parts_of(topic: Mapping[str, Any]) -> Iterator[str]:
    """What differs in a topic, of a row of `compared_topics`: `3 missing in B`."""
    for name, words in _COUNTED:
        if topic[name]:
            yield f"{topic[name]:,} {words}"
    unread = [f"{topic[name]:,} in {side}" for name, side in (("unread_a", "A"), ("unread_b", "B")) if topic[name]]
    if unread:
        yield f"entries and ledgers that could not be read: {', '.join(unread)}"
