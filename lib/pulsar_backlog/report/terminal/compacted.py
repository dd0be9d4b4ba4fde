"""What a compacted ledger holds against its log, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from rich.console import Console

from pulsar_backlog.counting import counted
from pulsar_backlog.foreign_text import visible
from pulsar_backlog.report.terminal.sentences import print_sentences
from pulsar_backlog.terms import Position

MAX_EXAMPLES = 20
"""Keys of one kind that are told one by one."""

_WORDS = {
    "agrees": "exactly what compaction makes of the log",
    "cut": "their last message is chunked, and compaction kept only its last chunk: no client can read it",
    "lost": "in the log, but not in the compacted ledger",
    "stale": "the log has a newer message before the horizon",
    "kept_deleted": "deleted in the log before the horizon, but still in the compacted ledger",
    "beyond_log": "older than the log that is here: trimmed, or not copied; nothing to compare",
    "maybe_deleted": "not in the compacted ledger; deleted in the log behind its end, perhaps before the horizon",
    "unknown_to_log": "in the compacted ledger, but the log that is here has no such message",
}
WRONG = ("lost", "stale", "kept_deleted", "unknown_to_log")
"""Kinds that compaction does not make."""


@dataclass(frozen=True)
class Example:
    """One key: where its last message, or what deleted it, stands in the log, and where it is in the compacted ledger.

    Attributes:
        kind: what it is an example of.
        key: where keys are shown.
        in_log: position, or None.
        in_view: position in the log of what the compacted ledger holds, or None.
        num_chunks: of a chunked message.
    """

    kind: str
    key: str | None
    in_log: Position | None
    in_view: Position | None
    num_chunks: int


@dataclass(frozen=True)
class CompactedSummary:
    """One compacted ledger.

    Attributes:
        topic: whose.
        dump: file it was read from.
        named: whether the cursor of compaction names it; None where nothing says.
        horizon: last position that was compacted.
        horizon_known: whether metadata say so; else it is where the compacted ledger ends, and the log may have been
            compacted further.
        log_entries: entries of the log up to there.
        view_entries: entries of the compacted ledger.
        counts: keys by kind.
        examples: keys that do not agree.
        faults: what is wrong with the dump.
        unreadable: entries of both that tell no key.
        damaged: entries of both whose checksum does not agree.
        gaps: ledgers of the log that are not here; None where nothing says.
    """

    topic: str
    dump: str
    named: bool | None
    horizon: Position
    horizon_known: bool
    log_entries: int
    view_entries: int
    counts: Mapping[str, int]
    examples: Sequence[Example]
    faults: Sequence[str]
    unreadable: int
    damaged: int
    gaps: int | None

    @property
    def is_wrong(self) -> bool:
        """Whether it is not what compaction makes of the log, or readers of the compacted topic miss messages."""
        return any(self.counts.get(kind) for kind in (*WRONG, "cut"))

    @property
    def is_incomplete(self) -> bool:
        """Whether something could not be read."""
        return bool(self.faults or self.unreadable)


def print_compacted(summary: CompactedSummary, console: Console) -> None:
    """Sentences on a terminal, one JSON line elsewhere."""
    print_sentences(_lines(summary), asdict(summary), console)


def _lines(summary: CompactedSummary) -> Iterator[str]:
    keys = sum(summary.counts.values())
    wrong = sum(summary.counts.get(kind, 0) for kind in WRONG)
    cut = summary.counts.get("cut", 0)
    if wrong:
        yield f"{wrong:,} of {counted(keys, 'key')} differ from what compaction makes of the log that is here."
    elif cut:
        yield f"Readers of the compacted topic miss {cut:,} of {counted(keys, 'key')}: their messages are chunked."
    else:
        yield f"All of {counted(keys, 'key')} that can be compared agree with the log."
    yield f"Topic: {visible(summary.topic)}"
    yield _of_ledger(summary)
    ledger, entry = summary.horizon
    sure = "by the cursor __compaction" if summary.horizon_known else "where the compacted ledger ends; perhaps further"
    yield f"Compacted up to {ledger}:{entry} ({sure}), {counted(summary.log_entries, 'entry')} of the log."
    for kind, count in sorted(summary.counts.items(), key=lambda item: -item[1]):
        yield f"{count:>10,}  {kind:<15} {_WORDS.get(kind, '')}"
    for one in summary.examples:
        yield f"  {one.kind}: {_example(one)}"
    for fault in summary.faults:
        yield f"The dump is damaged: {fault}"
    if summary.unreadable or summary.damaged:
        words = (
            f"{counted(summary.unreadable, 'entry')} without a readable key, {summary.damaged:,} with a wrong checksum"
        )
        yield f"{words}: statements about their keys are not certain."
    if summary.gaps:
        missing = counted(summary.gaps, "ledger")
        yield f"{missing} of the log before the horizon are not here: there may be more stale keys."


def _of_ledger(summary: CompactedSummary) -> str:
    words = {
        True: "The cursor __compaction names this ledger.",
        False: "The cursor __compaction names ANOTHER ledger: this one is an older view, or another topic's.",
        None: "Nothing says whether it is the newest view (--admin tells).",
    }
    return f"{counted(summary.view_entries, 'entry')} in {visible(summary.dump)}. {words[summary.named]}"


def _example(one: Example) -> str:
    key = "" if one.key is None else f" key {visible(one.key)!r}"
    log = "not there" if one.in_log is None else f"{one.in_log[0]}:{one.in_log[1]}"
    view = "not there" if one.in_view is None else f"of {one.in_view[0]}:{one.in_view[1]}"
    chunks = f", {one.num_chunks} chunks" if one.num_chunks > 1 else ""
    return f"log {log}, compacted {view}{chunks}{key}"
