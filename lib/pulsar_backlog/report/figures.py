"""Geometry of the drawings. The templates draw it as inline SVG: text keeps its size on any screen.

Written by hand rather than by a plotting library: a tenth of the bytes, real text, patterns that
survive a black-and-white printer, and the reader's own light or dark colours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pulsar_backlog.report.model import Bucket, LedgerFacts, PublicationGroup, PublicationRow, TopicSection
from pulsar_backlog.report.outcomes import by_state
from pulsar_backlog.report.words import STATES

MAX_SLOTS = 128
"""As many as `ledger_facts` has cells: what is zoomed shows all that is known."""

MAX_TABLE_ROWS = 12
PLOT_HEIGHT = 56
MAX_STRIPS = 30
MIN_SEGMENT_PERCENT = 1.5


@dataclass(frozen=True)
class Slot:
    """One bar of a timeline."""

    start_ms: int
    entries: int
    bytes: int
    chunk_entries: int


@dataclass(frozen=True)
class Strip:
    """A ledger's span on the time axis, in percent of its width."""

    label: str
    x: float
    width: float
    status: str


@dataclass(frozen=True)
class Tick:
    """A time on the axis, in percent of its width."""

    x: float
    start_ms: int


@dataclass(frozen=True)
class Timeline:
    """A topic over time: bytes, entries with the chunks among them, listed messages that are not whole, ledgers.

    The paths are in a coordinate system `slots` wide and `PLOT_HEIGHT` high.
    """

    slots: int
    slot_ms: int
    start_ms: int
    end_ms: int
    max_bytes: int
    max_entries: int
    bytes_path: str
    entries_path: str
    chunks_path: str
    broken_path: str
    strips: tuple[Strip, ...]
    ticks: tuple[Tick, ...]
    rows: tuple[Slot, ...]
    row_ms: int


@dataclass(frozen=True)
class Segment:
    """A part of a stacked bar, in percent of its width."""

    state: str
    is_known: bool
    count: int
    x: float
    width: float


def timeline(section: TopicSection) -> Timeline | None:
    """The drawing of a topic, or None when there is nothing to see: fewer than two spans of time."""
    if len(section.buckets) < 2:
        return None
    slots, slot_ms = merge(section.buckets, section.bucket_ms, MAX_SLOTS)
    if len(slots) < 2:
        return None
    start_ms = slots[0].start_ms
    count = (slots[-1].start_ms - start_ms) // slot_ms + 1
    end_ms = start_ms + count * slot_ms
    rows, row_ms = merge(slots, slot_ms, MAX_TABLE_ROWS)
    max_bytes = max(s.bytes for s in slots)
    max_entries = max(s.entries for s in slots)
    places = [(s.start_ms - start_ms) // slot_ms for s in slots]
    return Timeline(
        slots=count,
        slot_ms=slot_ms,
        start_ms=start_ms,
        end_ms=end_ms,
        max_bytes=max_bytes,
        max_entries=max_entries,
        bytes_path=_bars(zip(places, (s.bytes for s in slots), strict=True), max_bytes),
        entries_path=_bars(zip(places, (s.entries for s in slots), strict=True), max_entries),
        chunks_path=_bars(zip(places, (s.chunk_entries for s in slots), strict=True), max_entries),
        broken_path=_lines(section.broken, start_ms, end_ms, slot_ms),
        strips=_strips(section.ledgers, start_ms, end_ms),
        ticks=tuple(Tick(_percent(row.start_ms, start_ms, end_ms), row.start_ms) for row in rows[1:]),
        rows=tuple(rows),
        row_ms=row_ms,
    )


def merge(buckets: Iterable[Bucket | Slot], bucket_ms: int, limit: int) -> tuple[list[Slot], int]:
    """Neighbouring buckets added up so that at most `limit` spans cover them all; with the span's width."""
    ordered = sorted(buckets, key=lambda bucket: bucket.start_ms)
    width = max(bucket_ms, 1)
    first = ordered[0].start_ms
    count = (ordered[-1].start_ms - first) // width + 1
    width *= -(-count // limit)
    sums: dict[int, list[int]] = {}
    for bucket in ordered:
        sums_of = sums.setdefault((bucket.start_ms - first) // width, [0, 0, 0])
        for at, value in enumerate((bucket.entries, bucket.bytes, bucket.chunk_entries)):
            sums_of[at] += value
    return [Slot(first + place * width, *values) for place, values in sums.items()], width


def _bars(values: Iterable[tuple[int, int]], largest: int) -> str:
    """One SVG path of bars from the bottom up; anything above zero is at least one pixel high."""
    path: list[str] = []
    for place, value in values:
        if value:
            height = max(value * PLOT_HEIGHT / largest, 1.0)
            path.append(f"M{place}.06 {PLOT_HEIGHT}v{-height:.1f}h.88v{height:.1f}z")
    return "".join(path)


def _lines(broken: Iterable[PublicationRow], start_ms: int, end_ms: int, slot_ms: int) -> str:
    """One SVG path with a line where each message that is not whole was published."""
    times = {row["publish_time_ms"] for row in broken if row["state"] != "whole"}
    places = sorted((time_ms - start_ms) / slot_ms for time_ms in times if start_ms <= time_ms < end_ms)
    return "".join(f"M{place:.2f} 0v5" for place in places)


def _strips(ledgers: tuple[LedgerFacts, ...], start_ms: int, end_ms: int) -> tuple[Strip, ...]:
    """Ledgers by creation; one ends where it was closed, else where the next begins."""
    dated = [(x.created_ms, x) for x in ledgers if x.created_ms is not None and x.status != "spare"]
    dated.sort(key=lambda pair: (pair[0], pair[1].ledger_id))
    strips: list[Strip] = []
    for at, (created_ms, ledger) in enumerate(dated[:MAX_STRIPS]):
        following_ms = dated[at + 1][0] if at + 1 < len(dated) else end_ms
        closed_ms = following_ms if ledger.closed_ms is None else min(ledger.closed_ms, following_ms)
        left = _percent(created_ms, start_ms, end_ms)
        right = _percent(closed_ms, start_ms, end_ms)
        if right > left:
            strips.append(Strip(str(ledger.ledger_id), left, round(right - left, 2), ledger.status))
    return tuple(strips)


def _percent(time_ms: int, start_ms: int, end_ms: int) -> float:
    inside = min(max(time_ms, start_ms), end_ms)
    return round((inside - start_ms) * 100 / (end_ms - start_ms), 2)


def state_bar(groups: Iterable[PublicationGroup]) -> tuple[Segment, ...]:
    """The states of all publications as one bar; a rare state stays wide enough to be seen."""
    counts = by_state(groups)
    total = sum(counts.values())
    widths = {state: max(count * 100 / total, MIN_SEGMENT_PERCENT) for state, count in counts.items()}
    scale = 100 / sum(widths.values()) if widths else 1.0
    segments: list[Segment] = []
    left = 0.0
    for state, count in counts.items():
        width = widths[state] * scale
        segments.append(Segment(state, state in STATES, count, round(left, 2), round(width, 2)))
        left += width
    return tuple(segments)
