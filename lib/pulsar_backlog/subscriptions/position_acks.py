"""Which subscriptions have one entry acknowledged, from the saved folder. No Spark here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pulsar_backlog.cluster.required_state import required_state
from pulsar_backlog.cursors.acked import AckedSet
from pulsar_backlog.subscriptions.sightings import cursor_views
from pulsar_backlog.terms import Position

MAX_INDEXES = 20


def acknowledged_by(folder: Path, topic: str | None, position: Position) -> Iterator[tuple[str, str]]:
    """Each subscription of the topic, and in words whether it has the entry acknowledged.

    Raises:
        UsageError: there is no such folder.
    """
    state = required_state(folder, {position[0]: topic} if topic else {})
    views = cursor_views(state, {})
    for (of_topic, name), view in sorted(views.cursors.items()):
        if of_topic != topic:
            continue
        if not view.sightings:
            yield name, "not known: no saved state can be read"
            continue
        newest = view.newest()
        sure = "" if newest.sureness == "certain" else f" ({newest.sureness.replace('_', ' ')}: {newest.reason})"
        yield name, _words(newest.chosen.acked, position) + sure


def _words(acked: AckedSet, position: Position) -> str:
    if position <= acked.mark_delete:
        return "acknowledged, at or before its mark-delete {}:{}".format(*acked.mark_delete)
    if position in acked:
        return "acknowledged individually, after its mark-delete {}:{}".format(*acked.mark_delete)
    words = acked.partly.get(position)
    if words is None:
        return "not acknowledged; its mark-delete is {}:{}".format(*acked.mark_delete)
    unacknowledged = [n for n in range(64 * len(words)) if words[n >> 6] >> (n & 63) & 1]
    more = "" if len(unacknowledged) <= MAX_INDEXES else f" and {len(unacknowledged) - MAX_INDEXES} more"
    return f"in part: batch indexes {', '.join(map(str, unacknowledged[:MAX_INDEXES]))}{more} are not acknowledged"
