"""Acknowledgement strips: a topic's entries in ledger order as a fixed number of cells, whatever their number.

A cell's height is the share that is acknowledged; ten thousand holes are a profile, and one hole is still seen.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from pulsar_backlog.report.acks import AckCell, Axis, SubscriptionFacts
from pulsar_backlog.terms import Position

STRIP_HEIGHT = 24
LEAST_SHARE = 0.15
"""A hole is never drawn smaller than this part of a cell, nor is an acknowledged entry among holes."""

MARK_HEIGHT = 12
MARKS_PER_WIDTH = 60
"""The width of the picture over that of a triangle, at least."""

MAX_TABLE_ROWS = 12


@dataclass(frozen=True)
class Stretch:
    """Neighbouring cells, for the table beside the picture.

    Attributes:
        x: where it begins, in percent of the picture's width.
        last: its last position; where the next stretch begins with a ledger, that beginning (`before`).
    """

    x: float
    first: Position
    last: Position
    before: bool
    entries: int
    unacked: int
    holes: int
    stalls: int


@dataclass(frozen=True)
class Strip:
    """The picture of what a subscription has acknowledged.

    Attributes:
        cells: width of the path's coordinate system; its height is `STRIP_HEIGHT`.
        acked: path of what is acknowledged; its height in a cell is the share.
        blocks: path of triangles, `MARK_HEIGHT` high, above the cells where sets begin that block.
        waits: the same of other sets that something must be done about.
        marks: how many triangles there are.
        mark_delete: percent of the width right after the mark-delete position; None when unknown.
        read: percent of the width of the read position; None when unknown.
    """

    cells: int
    acked: str
    blocks: str
    waits: str
    marks: int
    mark_delete: float | None
    read: float | None
    first: Position
    last: Position
    entries: int
    stretches: tuple[Stretch, ...]


def strip(axis: Axis | None, facts: SubscriptionFacts) -> Strip | None:
    """The picture of one subscription; None without entries or where nothing says what is acknowledged."""
    row = facts.row
    if axis is None or not axis.starts or row["state"] == "unknown":
        return None
    cells = {cell.cell: cell for cell in facts.cells if 0 <= cell.cell < len(axis.starts)}
    shares = [_acked_share(size, cells.get(at)) for at, size in enumerate(axis.sizes)]
    marks = [cell for _, cell in sorted(cells.items()) if cell.stalls]
    blocks, waits = (_triangles([c.cell for c in marks if c.blocking is kind], len(shares)) for kind in (True, False))
    return Strip(
        cells=len(shares),
        acked=_path(shares),
        blocks=blocks,
        waits=waits,
        marks=len(marks),
        mark_delete=_percent(axis, row["mark_delete_ledger_id"], row["mark_delete_entry_id"], after=True),
        read=_percent(axis, row["read_ledger_id"], row["read_entry_id"]),
        first=axis.starts[0],
        last=axis.last,
        entries=sum(axis.sizes),
        stretches=stretches(axis, cells),
    )


def _acked_share(size: int, cell: AckCell | None) -> float:
    if cell is None or not cell.unacked:
        return 1.0
    share = 1 - min(cell.unacked / size, 1.0)
    return 0.0 if share <= 0 else min(max(share, LEAST_SHARE), 1 - LEAST_SHARE)


def _path(shares: Sequence[float]) -> str:
    """The outline of all cells as one SVG path, from the bottom up; neighbours of the same height are one step."""
    steps = [f"V{height}h{len(list(run))}" for height, run in groupby(f"{(1 - s) * STRIP_HEIGHT:.3g}" for s in shares)]
    return f"M0 {STRIP_HEIGHT}{''.join(steps)}V{STRIP_HEIGHT}z"


def _triangles(places: Iterable[int], cells: int) -> str:
    """One SVG path: a triangle that points down on each cell, no wider than the cell, narrow where cells are wide."""
    width = min(1.0, cells / MARKS_PER_WIDTH)
    return "".join(
        f"M{place + (1 - width) / 2:.3g} 1h{width:.2g}l{-width / 2:.2g} {MARK_HEIGHT - 2}z" for place in places
    )


def _percent(axis: Axis, ledger_id: int | None, entry_id: int | None, after: bool = False) -> float | None:
    """Where a position lies in its cell; one of a ledger that is not stored lies at the seam."""
    if ledger_id is None or entry_id is None:
        return None
    place = (ledger_id, entry_id + after)
    cell = bisect_right(axis.starts, place) - 1
    if cell < 0:
        return 0.0
    if place > axis.last:
        return 100.0
    first_ledger_id, first_entry_id = axis.starts[cell]
    inside = place[1] - first_entry_id if ledger_id == first_ledger_id else axis.sizes[cell] / 2
    return round((cell + min(inside / axis.sizes[cell], 1.0)) * 100 / len(axis.starts), 2)


def stretches(axis: Axis, cells: dict[int, AckCell]) -> tuple[Stretch, ...]:
    """The strip in at most `MAX_TABLE_ROWS` rows: neighbours alike together, else equal stretches."""
    kinds = [_kind(axis.sizes[at], cells.get(at)) for at in range(len(axis.starts))]
    runs = [[at for at, _ in run] for _, run in groupby(enumerate(kinds), key=lambda pair: pair[1])]
    if len(runs) > MAX_TABLE_ROWS:
        step = -(-len(kinds) // MAX_TABLE_ROWS)
        runs = [list(range(at, min(at + step, len(kinds)))) for at in range(0, len(kinds), step)]
    return tuple(_stretch(axis, [cells.get(at) for at in run], run) for run in runs)


def _kind(size: int, cell: AckCell | None) -> str:
    if cell is None or not cell.unacked:
        return "acked"
    return "unacked" if cell.unacked >= size else "mixed"


def _stretch(axis: Axis, cells: Iterable[AckCell | None], run: Sequence[int]) -> Stretch:
    present = [cell for cell in cells if cell is not None]
    following = run[-1] + 1
    last, before = (axis.last, False) if following == len(axis.starts) else _end(*axis.starts[following])
    return Stretch(
        x=round(run[0] * 100 / len(axis.starts), 2),
        first=axis.starts[run[0]],
        last=last,
        before=before,
        entries=sum(axis.sizes[at] for at in run),
        unacked=round(sum(cell.unacked for cell in present)),
        holes=sum(cell.holes for cell in present),
        stalls=sum(cell.stalls for cell in present),
    )


def _end(ledger_id: int, entry_id: int) -> tuple[Position, bool]:
    """The last position before this one, if it lies in the same ledger; else this one, to be read as `before`."""
    return ((ledger_id, entry_id - 1), False) if entry_id else ((ledger_id, entry_id), True)
