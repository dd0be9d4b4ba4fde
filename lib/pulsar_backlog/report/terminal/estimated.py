"""What an audit will need, in words: how much and how long first, then what that rests on."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from rich.console import Console
from rich.text import Text

from pulsar_backlog.counting import counted
from pulsar_backlog.json_text import to_json
from pulsar_backlog.options.printed import Run
from pulsar_backlog.report.words import byte_size, duration

SMALL_SHARE = 0.001
"""A sample of a smaller share of the bytes is said to be small."""


@dataclass(frozen=True)
class Measured:
    """What the sample was and took, in one process.

    Attributes:
        ledgers: of which something was read.
        data_bytes: of data objects that were read.
        entries: that were found in them.
        seconds: reading, decoding and writing tables.
        look_seconds: examining a copy, on average; several are examined at once.
        block_bytes: the largest block, or None where no sampled ledger has two.
    """

    ledgers: int
    data_bytes: int
    entries: int
    seconds: float
    look_seconds: float
    block_bytes: int | None


@dataclass(frozen=True)
class Estimate:
    """What an audit of all of it needs.

    Attributes:
        objects: objects in the source, others' included.
        ledgers: ledgers in scope that have data.
        copies: stored copies of them that are looked at.
        other_objects: objects that are no ledger's, or of a kind that is not read.
        unreadable: parts of the source that could not be listed: then all else is a lower bound.
        data_bytes: of the data objects that are read: one copy of each ledger.
        index_bytes: of the indexes that are read.
        lists, gets: requests to the bucket; 0 for a folder.
        cost: of requests and bytes, in the currency of the prices; None for a folder.
        processes: processes that `seconds` counts on.
        seconds: about how long; None where no ledger of the sample could be read.
        measured: what that rests on.
    """

    objects: int
    ledgers: int
    copies: int
    other_objects: int
    unreadable: int
    data_bytes: int
    index_bytes: int
    lists: int
    gets: int
    cost: float | None
    processes: int
    seconds: float | None
    measured: Measured


def print_estimate(estimate: Estimate, run: Run, console: Console) -> None:
    """The answer first; JSON where no one looks."""
    if not console.is_terminal:
        console.file.write(to_json({"source": run.source, **asdict(estimate)}) + "\n")
        return
    for line in _lines(estimate):
        console.print(line, highlight=False)
    command = run.command("audit")
    console.print(f"Next: {command}", soft_wrap=True, highlight=False)
    console.print(f"Less: {command} --sample 10%   (or --budget-bytes N, --limit N)", soft_wrap=True, highlight=False)


def _lines(estimate: Estimate) -> list[Text | str]:
    least = "at least " if estimate.unreadable else ""
    size = byte_size(estimate.data_bytes)
    took = "is unknown: nothing of the sample could be read"
    if estimate.seconds is not None:
        minutes = duration(round(estimate.seconds * 1000))
        took = f"takes about {minutes} with {counted(estimate.processes, 'process')} such as this"
    lines: list[Text | str] = [
        Text(f"An audit reads {least}{size} of {counted(estimate.ledgers, 'ledger')}, and {took}.", style="bold")
    ]
    if estimate.cost is not None:
        asks = f"{counted(estimate.lists, 'request')} that list, {estimate.gets:,} that read"
        lines.append(f"It asks the bucket {least}{asks}: {least}{estimate.cost:,.2f} at the given prices.")
    others = f"{estimate.other_objects:,} are none of a ledger that is read"
    lines.append(f"The source holds {least}{counted(estimate.objects, 'object')}: {others}.")
    if estimate.unreadable:
        lines.append(f"{counted(estimate.unreadable, 'part')} of the source could not be listed and may hold more.")
    extra = estimate.copies - estimate.ledgers
    if extra > 0:
        lines.append(f"{counted(extra, 'further copy', 'further copies')} of ledgers: looked at, not scanned.")
    return [*lines, _rests_on(estimate)]


def _rests_on(estimate: Estimate) -> str:
    sample = estimate.measured
    if not sample.data_bytes:
        return "Nothing could be measured."
    rate = sample.data_bytes / max(sample.seconds, 1e-9) / 1e6
    share = sample.data_bytes / max(estimate.data_bytes, 1)
    words = (
        f"Measured: {byte_size(sample.data_bytes)} of {counted(sample.ledgers, 'ledger')} "
        f"({sample.entries:,} entries) at {rate:,.1f} MB/s in one process."
    )
    return words + (" That is a small sample: raise --sample-bytes." if share < SMALL_SHARE else "")
