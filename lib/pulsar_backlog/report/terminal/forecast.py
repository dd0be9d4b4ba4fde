"""A forecast in words, and as rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pulsar_backlog.chunks.dispatch.forecast import Stage
from pulsar_backlog.foreign_text import visible

MOST_NAMED = 5


def stage_rows(stages: Sequence[Stage]) -> Iterator[dict[str, Any]]:
    """One row for each stage."""
    for stage in stages:
        yield {
            "event": stage.event or "connect",
            "plays": sum(stage.prediction.outcomes.values()),
            "outcomes": len(stage.prediction.outcomes),
            "delivered_least": stage.delivered[0],
            "delivered_most": stage.delivered[1],
            "backlog_least": stage.certain.backlog[0],
            "backlog_most": stage.certain.backlog[1],
            "undelivered": list(stage.undelivered),
            "acknowledged_undelivered": list(stage.eaten),
            "perhaps_acknowledged_undelivered": list(stage.endangered),
        }


def forecast_lines(stages: Sequence[Stage], entries: int, dispatch: str, broker: str) -> Iterator[str]:
    """What is likely, stage by stage."""
    yield f"{entries:,} unacknowledged entries, {dispatch}, broker {broker}; the consumers connect to the saved state."
    for stage in stages:
        plays = sum(stage.prediction.outcomes.values())
        agreed = "all plays agree" if stage.prediction.sharp else f"{len(stage.prediction.outcomes)} different outcomes"
        yield f"After {visible(stage.event) if stage.event else 'they have connected'} ({plays} plays, {agreed}):"
        staying = _span(stage.certain.backlog, "entry stays", "entries stay")
        yield f"    {_span(stage.delivered, 'delivery', 'deliveries')}; {staying}"
        if stage.undelivered:
            yield f"    never delivered in any play: {_named(stage.undelivered)}"
        if stage.eaten:
            yield f"    acknowledged though never delivered, in every play: {_named(stage.eaten)}"
        if stage.endangered:
            yield f"    acknowledged though never delivered, in some plays: {_named(stage.endangered)}"
    yield "Pins and permits of the running broker are in no saved state: consumers that are connected now may get less."


def _span(ends: tuple[int, int], one: str, many: str) -> str:
    least, most = ends
    if least == most:
        return f"{least:,} {one if least == 1 else many}"
    return f"{least:,} to {most:,} {many}"


def _named(labels: Sequence[str]) -> str:
    rest = f" and {len(labels) - MOST_NAMED:,} more" if len(labels) > MOST_NAMED else ""
    return ", ".join(visible(label) for label in labels[:MOST_NAMED]) + rest
