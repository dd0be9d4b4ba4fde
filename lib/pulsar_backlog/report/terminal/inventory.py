"""What is stored and what it costs a month, in words: what no broker needs, what is kept and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field

from rich.console import Console

from pulsar_backlog.counting import counted
from pulsar_backlog.foreign_text import visible, visible_lines
from pulsar_backlog.report.terminal.sentences import print_sentences
from pulsar_backlog.report.words import byte_size, spaced

GIB = 1024**3

_WORDS = {
    "current": "the broker reads these",
    "leftover": "other attempts of ledgers whose current copy is here",
    "trimmed": "ledgers that the broker has deleted",
    "rescue": "other attempts, where the broker's own copy is not here or not whole",
    "doubtful": "other attempts that the broker may read, now or later",
    "unfinished": "attempts that the broker does not call complete",
    "unlisted": "ledgers that their topic's list skips",
    "newer": "ledgers that may be newer than the saved metadata",
    "unknown_topic": "ledgers of topics that the saved metadata do not know",
    "other_cluster": "another Pulsar cluster wrote these",
    "undecided": "nothing tells",
    "missing": "the broker reads these, but they are not here",
    "not_offloaded": "in BookKeeper",
    "bookkeeper": "in files of bookies, which belong to BookKeeper",
    "compacted": "compacted views of topics, in BookKeeper",
}
_STAYS = {
    "owner": "kept: nothing in them names their cluster (--sole-owner says that no other cluster stores here)",
    "scan": "kept: the copy that the broker reads was not scanned, or is not whole (audit first)",
}


@dataclass(frozen=True)
class Line:
    """Copies of one verdict: number, bytes, price of a month, and why they stay; None where they may go."""

    verdict: str
    copies: int
    bytes: int
    per_month: float
    stays: str | None


@dataclass(frozen=True)
class LargeLedger:
    """A large ledger, the price of a month, and who holds it; `more` are holders that are not in the list."""

    topic: str | None
    ledger_id: int
    bytes: int
    per_month: float
    holders: Sequence[str]
    more: int


@dataclass(frozen=True)
class Holder:
    """What one holder alone keeps: ledgers, bytes, the price of a month."""

    topic: str | None
    holder: str
    ledgers: int
    bytes: int
    per_month: float


@dataclass(frozen=True)
class InventorySummary:
    """What is printed.

    Attributes:
        source: where the ledgers lie.
        listed: when it was listed.
        price_per_gib_month: that `per_month` is made with.
        lines: by verdict.
        list_folder: folder of the lists to delete; None where none were asked for.
        listed_objects: names on them.
        listed_uploads: unfinished uploads on them.
        left_out: names that a list cannot spell.
        commands: what to type to delete them.
        largest: ledgers, with who holds them, where an audit knows it.
        sole_holders: who alone keeps the most.
    """

    source: str
    listed: str
    price_per_gib_month: float
    lines: Sequence[Line]
    list_folder: str | None = None
    listed_objects: int = 0
    listed_uploads: int = 0
    left_out: int = 0
    commands: Sequence[str] = field(default_factory=tuple)
    largest: Sequence[LargeLedger] = field(default_factory=tuple)
    sole_holders: Sequence[Holder] = field(default_factory=tuple)


def print_inventory(summary: InventorySummary, console: Console) -> None:
    """Sentences on a terminal, one JSON line elsewhere."""
    print_sentences(_lines(summary), asdict(summary), console)


def _lines(summary: InventorySummary) -> Iterator[str]:
    free = [line for line in summary.lines if line.stays is None]
    size, cost = sum(line.bytes for line in free), sum(line.per_month for line in free)
    copies = counted(sum(line.copies for line in free), "copy")
    where = visible(summary.source)
    if free:
        yield f"{copies} in {where} ({byte_size(size)}, {cost:,.2f} a month) are needed by no broker."
    else:
        yield f"Nothing in {where} is known to be unneeded."
    yield f"Listed {summary.listed} UTC; {summary.price_per_gib_month:g} a GiB and month."
    for line in summary.lines:
        words = _WORDS.get(line.verdict, "")
        what = f"{byte_size(line.bytes):>12}  {line.per_month:>10,.2f}  {spaced(line.verdict):<14}"
        yield f"{what} {counted(line.copies, 'copy')}: {words}"
        if line.stays in _STAYS:
            yield f"{'':>26}{_STAYS[line.stays]}"
    yield from _holder_lines(summary)
    yield from _list_lines(summary)


def _holder_lines(summary: InventorySummary) -> Iterator[str]:
    if summary.largest:
        yield "The largest ledgers, and who holds them:"
    for one in summary.largest:
        more = f" and {one.more} more" if one.more else ""
        holders = ", ".join(map(visible, one.holders))
        where = f"ledger {one.ledger_id} of {visible(one.topic or 'no known topic')}"
        yield f"{byte_size(one.bytes):>12}  {one.per_month:>10,.2f}  {where}: {holders}{more}"
    if summary.sole_holders:
        yield "What only one holder keeps:"
    for holder in summary.sole_holders:
        where = f"{visible(holder.holder)} on {visible(holder.topic or 'no known topic')}"
        yield f"{byte_size(holder.bytes):>12}  {holder.per_month:>10,.2f}  {where}: {counted(holder.ledgers, 'ledger')}"


def _list_lines(summary: InventorySummary) -> Iterator[str]:
    if summary.list_folder is None:
        return
    names = f"{counted(summary.listed_objects, 'object')} and {counted(summary.listed_uploads, 'unfinished upload')}"
    yield f"{names} on the lists in {visible(summary.list_folder)}. Nothing was deleted."
    if summary.left_out:
        yield f"{counted(summary.left_out, 'name')} cannot be written in such a list and were left out."
    if summary.commands:
        yield "To delete them, after you have checked the lists:"
    for command in summary.commands:
        yield f"  {visible_lines(command)}"
