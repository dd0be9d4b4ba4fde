"""Several sightings of one cursor -> the newest, how sure that is, and where they differ.

What tells the order: a cursor ledger's id, then its entry id (each entry is a whole state); the broker's memory
(stats-internal) names the entry it wrote last, so it is at least as new as that one; a value of the metadata store that
names a cursor ledger is the snapshot of its opening and older than any entry of it. Without a ledger in common, times
decide, and without times the larger acknowledged set: acknowledgements are not taken back, except by a reset.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from pulsar_backlog.cursors.acked import AckedSet
from pulsar_backlog.cursors.recover import Recovered
from pulsar_backlog.cursors.values import AckState
from pulsar_backlog.terms import Position, Sureness

_SNAPSHOT = "only the snapshot of the last ledger switch is given; what followed lies in the cursor ledger"
_RANK = {"stats_internal": 1, "cursor_ledger": 0, "metadata_store": -1, "info_internal": -1}


@dataclass(frozen=True)
class Sighting:
    """One source's word on one cursor.

    Attributes:
        source: `cursor_ledger`, `metadata_store`, `stats_internal` or `info_internal`.
        file: where it was read.
        acked: what it says is acknowledged.
        state: the same as on the wire; None when read from text.
        whole: False for a snapshot of a ledger switch, which knows mark-delete only.
        cursor_ledger_id: the open cursor ledger; None when there is none, or it is not said.
        entry_id: the entry of it that this is, or that the broker wrote last; None when not said.
        exact_ms: when the state was stored; None when not kept.
        after_ms: not older than this; None when nothing says.
        read_position: next entry to read; None when not said.
        recovered: how it was read from its cursor ledger.
        compression: codec of its envelope.
        stored_bytes: bytes as stored; None when read from JSON.
    """

    source: str
    file: str
    acked: AckedSet
    state: AckState | None = None
    whole: bool = True
    cursor_ledger_id: int | None = None
    entry_id: int | None = None
    exact_ms: int | None = None
    after_ms: int | None = None
    read_position: Position | None = None
    recovered: Recovered | None = None
    compression: str | None = None
    stored_bytes: int | None = None

    @cached_property
    def is_stored(self) -> bool:
        """Whether a restarted broker could read this, and not only its memory."""
        return self.source != "stats_internal"

    @property
    def downgrade_safe(self) -> bool | None:
        """Whether a broker without long lists and PIP-381 reads the stored state whole; None when it was not given."""
        if self.state is None:
            return None
        split = self.recovered is not None and not self.recovered.stock_broker_reads
        return self.state.encoding != "long_array" and not split


@dataclass(frozen=True)
class Newest:
    """The answer.

    Attributes:
        chosen: the newest sighting.
        stored: the newest of those that a restarted broker could read; None when none was given.
        rollback: the snapshot that forced recovery would go back to; None when none was given.
        sureness: `certain`, `likely` or `cannot_tell`.
        reason: why.
        differing: whole sightings that say something else and are not plainly older states of the same ledger.
    """

    chosen: Sighting
    stored: Sighting | None
    rollback: Position | None
    sureness: Sureness
    reason: str
    differing: tuple[Sighting, ...] = field(default=())


def newest(sightings: Iterable[Sighting]) -> Newest:
    """The newest of at least one sighting."""
    ranked = sorted(sightings, key=lambda s: (s.whole, _RANK[s.source], s.file), reverse=True)
    chosen, doubt = _pick(ranked)
    stored = [s for s in ranked if s.is_stored and s.whole]
    snapshots = [s.acked.mark_delete for s in ranked if s.source in ("metadata_store", "info_internal")]
    sureness, reason = _judged(chosen, doubt)
    return Newest(
        chosen=chosen,
        stored=_pick(stored)[0] if stored else None,
        rollback=max(snapshots, default=None),
        sureness=sureness,
        reason=reason,
        differing=tuple(s for s in ranked if s is not chosen and s.whole and s.acked != chosen.acked),
    )


def _pick(ranked: list[Sighting]) -> tuple[Sighting, str | None]:
    """The newest, and what the choice rests on where that is not certain."""
    best, doubt = ranked[0], None
    for other in ranked[1:]:
        order = _order(best, other)
        if order is None:
            best, doubt = _by_progress(best, other, doubt)
        elif order < 0:
            best = other
    return best, doubt


def _order(a: Sighting, b: Sighting) -> int | None:
    """Positive when `a` is newer, negative when `b` is, 0 when they say the same; None when neither is known."""
    if a.acked == b.acked and a.whole == b.whole:
        return 0
    if a.cursor_ledger_id is not None and b.cursor_ledger_id is not None:
        return _sign(_place(a), _place(b))
    if a.exact_ms is not None and b.exact_ms is not None and a.exact_ms != b.exact_ms:
        return _sign((a.exact_ms,), (b.exact_ms,))
    if a.after_ms is not None and b.exact_ms is not None and a.after_ms >= b.exact_ms:
        return 1
    if b.after_ms is not None and a.exact_ms is not None and b.after_ms >= a.exact_ms:
        return -1
    return None


def _place(one: Sighting) -> tuple[int, ...]:
    entry_id = -1 if one.entry_id is None else one.entry_id
    return one.cursor_ledger_id or 0, int(one.whole), entry_id, _RANK[one.source]


def _sign(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    return (a > b) - (a < b)


def _by_progress(a: Sighting, b: Sighting, doubt: str | None) -> tuple[Sighting, str]:
    if a.acked.is_subset(b.acked):
        return b, doubt or "larger"
    if b.acked.is_subset(a.acked):
        return a, doubt or "larger"
    return max(a, b, key=lambda s: (s.whole, s.acked.mark_delete)), "unordered"


def _judged(chosen: Sighting, doubt: str | None) -> tuple[Sureness, str]:
    if not chosen.whole:
        return (
            "cannot_tell",
            _SNAPSHOT,
        )
    if doubt == "unordered":
        return "cannot_tell", "sources disagree, and nothing says which is newer"
    if chosen.recovered is not None and chosen.recovered.faults:
        return "likely", "newer entries of the cursor ledger are not whole states"
    if doubt == "larger":
        return "likely", "sources disagree; the one with more acknowledgements is taken as newer"
    if chosen.source == "stats_internal":
        return "certain", "read from the broker's memory; batch indexes are not in it"
    return "certain", "read from the stored state"
