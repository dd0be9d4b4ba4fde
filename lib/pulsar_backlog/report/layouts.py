"""The drawing of a scalable topic's layout: its segments over time, by the key hashes that each of them has.

A column is what the layout was between two of its changes, however long that was: a topic splits several times within
seconds, and then not for a year. Without a layout a column is a generation, as the names of segments tell it.

| a segment begins | and ends |
|---|---|
| with the change that made it; a migrated one before all changes | where it was sealed, else at the right edge |
| without a layout: one column after the last of its parents | where the first of its children begins |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pulsar_backlog.report.scalable import SegmentFacts

HASHES = 65536
HEIGHT = 180
MIN_LABEL_HEIGHT = 16.0
MIN_LABEL_PERCENT = 3.0
MAX_TICKS = 6


@dataclass(frozen=True)
class Block:
    """A segment in the drawing; widths in percent, heights in pixels.

    Attributes:
        fill: part of its class: `active`, `sealed`, `legacy` or `unknown`.
        is_stored: whether a ledger of it is in the source.
        is_labelled: whether there is room for its number.
    """

    segment_id: int
    fill: str
    is_stored: bool
    x: float
    y: float
    width: float
    height: float
    is_labelled: bool


@dataclass(frozen=True)
class Tick:
    """Where a change of the layout stands: percent of the width, and when it was, or None where nobody says."""

    x: float
    time_ms: int | None


@dataclass(frozen=True)
class LayoutDrawing:
    """The drawing; `ticks` only where a layout says the changes."""

    columns: int
    blocks: tuple[Block, ...]
    ticks: tuple[Tick, ...]
    is_guessed: bool


@dataclass(frozen=True)
class _Span:
    """A segment and the columns that it covers: from `first` up to, not including, `end`."""

    one: SegmentFacts
    first: int
    end: int


def layout_drawing(segments: Sequence[SegmentFacts]) -> LayoutDrawing | None:
    """The drawing of these segments; None where neither layout nor names tell how one followed another."""
    of_layout = [one for one in segments if one.created_epoch is not None]
    by_names = [one for one in segments if one.parents is not None]
    spans = _by_epoch(of_layout) if of_layout else _by_generation(by_names)
    if not spans:
        return None
    columns = max(span.end for span in spans)
    blocks = [block for span in spans for block in _blocks(span, spans, columns)]
    return LayoutDrawing(columns, tuple(blocks), _ticks(spans, columns) if of_layout else (), not of_layout)


def _by_epoch(segments: Sequence[SegmentFacts]) -> list[_Span]:
    """By changes of the layout; -1 stands for the time before a migration."""
    epochs = {one.created_epoch or 0 for one in segments} | {one.sealed_epoch or 0 for one in segments}
    epochs |= {-1} if any(one.is_legacy for one in segments) else set()
    place = {epoch: at for at, epoch in enumerate(sorted(epochs))}
    spans = []
    for one in segments:
        first = place[-1 if one.is_legacy else one.created_epoch or 0]
        end = len(place) if one.sealed_epoch is None else place[one.sealed_epoch]
        spans.append(_Span(one, first, max(end, first + 1)))
    return spans


def _by_generation(segments: Sequence[SegmentFacts]) -> list[_Span]:
    """By parents and children, as names tell them; a child has a higher number than its parents."""
    first: dict[int, int] = {}
    for one in sorted(segments, key=lambda one: one.segment_id):
        first[one.segment_id] = max((first[parent] + 1 for parent in one.parents or () if parent in first), default=0)
    last = max(first.values(), default=0) + 1
    spans = []
    for one in segments:
        begin = first[one.segment_id]
        end = min((first[child] for child in one.children or () if child in first), default=last)
        spans.append(_Span(one, begin, max(end, begin + 1)))
    return spans


def _blocks(span: _Span, spans: Iterable[_Span], columns: int) -> Iterable[Block]:
    """Its rectangle; those that share key hashes at the same time, as old partitions do, share the height."""
    one = span.one
    rivals = [
        other.one.segment_id for other in spans
        if (other.first, other.one.first_hash, other.one.last_hash) == (span.first, one.first_hash, one.last_hash)
    ]  # fmt: skip
    whole = (one.last_hash - one.first_hash + 1) * HEIGHT / HASHES
    height = whole / len(rivals)
    width = (span.end - span.first) * 100 / columns
    yield Block(
        segment_id=one.segment_id,
        fill="legacy" if one.is_legacy else one.status if one.status in ("active", "sealed") else "unknown",
        is_stored=one.ledgers > 0,
        x=round(span.first * 100 / columns, 2),
        y=round(one.first_hash * HEIGHT / HASHES + sorted(rivals).index(one.segment_id) * height, 2),
        width=round(width, 2),
        height=round(height, 2),
        is_labelled=height >= MIN_LABEL_HEIGHT and width >= MIN_LABEL_PERCENT,
    )


def _ticks(spans: Sequence[_Span], columns: int) -> tuple[Tick, ...]:
    """When the layout changed, at most `MAX_TICKS` of the columns."""
    times: dict[int, int | None] = {span.first: span.one.created_ms for span in spans if not span.one.is_legacy}
    step = -(-columns // MAX_TICKS)
    return tuple(Tick(round(at * 100 / columns, 2), times.get(at)) for at in range(0, columns, step) if at in times)


def numbers(ids: Sequence[int] | None) -> str:
    """Segments by their numbers, in words: `3, 4`, `none`, `unknown`."""
    if ids is None:
        return "unknown"
    return ", ".join(f"{one}" for one in ids[:12]) + (f" and {len(ids) - 12:,} more" if len(ids) > 12 else "") or "none"


STATUS_WORDS: Mapping[str, str] = {
    "active": "active: new messages go here",
    "sealed": "sealed: nothing is added any more",
    "pruned": "pruned: no client reads it any more",
    "unlisted": "not in the layout, which never gave its number out",
    "unknown": "unknown: no layout was saved",
}
"""What a status means."""
