"""The fold: all stored chunk entries of one topic and uuid -> publications and roles.

A publication is one send: same uuid, same publish time, which every real client stamps once per message.
Chunks are never joined across publish times.
What is left of a message that was sent again is told beside the one that is whole, see `resends`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from operator import attrgetter

from pulsar_backlog.chunks.damage import damaged_row, resent_chunks
from pulsar_backlog.chunks.family import mixed_publish_times, reused_publish_times
from pulsar_backlog.chunks.healthy import fold_healthy, is_healthy
from pulsar_backlog.chunks.publication import FamilyFacts, fold_publication
from pulsar_backlog.chunks.resends import tell_resends
from pulsar_backlog.chunks.rows import ChunkRole, ChunkRow, FamilyFold, Flag, LogEdge, Publication, trusted

MAX_DAMAGED = 20
"""Damaged copies under one uuid that its other publications are compared with; one is enough to make them unsure."""

_POSITION = attrgetter("ledger_id", "entry_id")


def fold_family(rows: Sequence[ChunkRow], edge: LogEdge) -> FamilyFold:
    """Verdict on all rows of one topic and uuid, in any order.

    Every row gets exactly one role. Time and memory grow with the rows, whatever counts they claim.
    """
    ordered = sorted(rows, key=_POSITION)
    if is_healthy(ordered):
        return fold_healthy(ordered)
    by_time: dict[int, list[ChunkRow]] = {}
    for row in ordered:
        by_time.setdefault(row.publish_time_ms, []).append(row)
    flags = _flags_of_family(ordered, by_time)
    damaged = tuple(map(damaged_row, islice((row for row in ordered if not trusted(row)), MAX_DAMAGED)))
    resent = resent_chunks(ordered) if damaged or edge.damage.places else {}
    publications: list[Publication] = []
    roles: list[ChunkRole] = []
    for time, own in by_time.items():
        publication, own_roles = fold_publication(own, FamilyFacts(flags[time], damaged, resent), edge)
        publications.append(publication)
        roles.extend(own_roles)
    roles.sort(key=_POSITION)
    return tell_resends(FamilyFold(tuple(publications), tuple(roles)), by_time, edge)


def _flags_of_family(ordered: Sequence[ChunkRow], by_time: dict[int, list[ChunkRow]]) -> dict[int, set[Flag]]:
    flags: dict[int, set[Flag]] = {time: set() for time in by_time}
    if len(by_time) > 1 and ordered[0].chunk_uuid:
        for time in reused_publish_times(ordered):
            flags[time].add("uuid_reused")
        for time in mixed_publish_times(ordered):
            flags[time].add("mixed_with_another_publication")
    return flags
