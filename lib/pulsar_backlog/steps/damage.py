"""The damaged entries of each topic, as few values: each may be a missing chunk, whatever it says of itself.

Nothing is read where nothing is damaged: the books (`scans`) say which ledgers hold entries that their checksum
contradicts, that have none, or that could not be decoded. How many are listed is bounded; what is not is counted.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pulsar_backlog.chunks.rows import Damage, Damaged, DamageKind
from pulsar_backlog.facts.odd import ABSENT
from pulsar_backlog.findings import MAX_EVIDENCE
from pulsar_backlog.sql.engines import QueryEngine

MAX_PLACES = 100
"""Damaged entries of a topic that are listed, whole ledgers at a time."""
MAX_LISTED = 10_000
"""Damaged entries of all topics that are listed."""

_T = TypeVar("_T")

TABLES_ASKED = ("ledger_facts", "producer_facts", "noted_entries", "rejects")
"""Tables that are asked about damaged entries."""
_CLAIMS = ("producer_name", "sequence_id", "payload_length", "payload_crc32c")


@dataclass(frozen=True, slots=True)
class HurtLedger:
    """A ledger that holds damaged entries.

    Attributes:
        before: the ledger of the topic that was scanned before it; None for the first.
        after: the one that was scanned after it; None for the last.
        damaged: entries that a checksum contradicts, or that could not be decoded.
        unverified: entries without a checksum.
    """

    ledger_id: int
    before: int | None
    after: int | None
    damaged: int
    unverified: int

    @property
    def around(self) -> list[int]:
        """The ledger and those beside it."""
        return [one for one in (self.before, self.ledger_id, self.after) if one is not None]


@dataclass(frozen=True)
class DamageRows:
    """What the tables say of ledgers with damage, and of those beside them.

    Attributes:
        times: earliest and latest time an entry was stored, by ledger; None where no entry tells.
        noted: rows of `noted_entries` of damaged entries, and of those without a checksum, by ledger.
        unchecked: ids of entries without a checksum, by ledger.
        rejected: ids of entries that could not be decoded, by ledger.
        writers: ledgers with producers of sound entries that a damaged one names too.
    """

    times: Mapping[int, tuple[int | None, int | None]] = field(default_factory=dict)
    log_entries: Mapping[int, Collection[Mapping[str, Any]]] = field(default_factory=dict)
    unchecked: Mapping[int, Collection[int]] = field(default_factory=dict)
    rejected: Mapping[int, Collection[int]] = field(default_factory=dict)
    writers: Collection[tuple[int, str]] = ()


def damage_of_topics(rows: Iterable[Mapping[str, Any]], engine: QueryEngine) -> dict[str, Damage]:
    """What is damaged on each topic that has damage.

    Args:
        rows: topics with their `scanned` ledgers and those that are `hurt`.
        engine: knows `TABLES_ASKED`, where damaged entries are looked up.
    """
    scanned = {row["topic"]: sorted(row["scanned"] or ()) for row in rows if row["hurt"]}
    hurt = {row["topic"]: in_order(scanned[row["topic"]], row["hurt"]) for row in rows if row["hurt"]}
    remaining, chosen = MAX_LISTED, dict[str, list[HurtLedger]]()
    for topic, ledgers in sorted(hurt.items()):
        chosen[topic] = choose(ledgers, min(remaining, MAX_PLACES))
        remaining -= sum(one.damaged + one.unverified for one in chosen[topic])
    wanted = [one for own in chosen.values() for one in own]
    rows_of_damage = look_up(wanted, engine) if wanted else DamageRows()
    return {topic: damage_of(ledgers, chosen[topic], scanned[topic], rows_of_damage) for topic, ledgers in hurt.items()}


def in_order(scanned: Sequence[int], hurt: Iterable[Any]) -> list[HurtLedger]:
    """The hurt ledgers (`ledger_id`, `damaged`, `unverified`) among those that were scanned, ascending."""
    places = []
    for one in sorted(hurt, key=lambda one: one["ledger_id"]):
        at = bisect_left(scanned, one["ledger_id"])
        before = scanned[at - 1] if at else None
        after = scanned[at + 1] if at + 1 < len(scanned) else None
        places.append(HurtLedger(one["ledger_id"], before, after, one["damaged"], one["unverified"]))
    return places


def choose(ledgers: Sequence[HurtLedger], budget: int) -> list[HurtLedger]:
    """Ledgers with the counts of what is listed of them: what is damaged first, then what has no checksum."""
    damaged, unverified = {}, {}
    for one in ledgers:
        if 0 < one.damaged <= budget:
            damaged[one.ledger_id] = one.damaged
            budget -= one.damaged
    for one in ledgers:
        if 0 < one.unverified <= min(budget, MAX_EVIDENCE):
            unverified[one.ledger_id] = one.unverified
            budget -= one.unverified
    listed = (
        HurtLedger(
            one.ledger_id, one.before, one.after, damaged.get(one.ledger_id, 0), unverified.get(one.ledger_id, 0)
        )
        for one in ledgers
    )
    return [one for one in listed if one.damaged or one.unverified]


def look_up(wanted: Collection[HurtLedger], engine: QueryEngine) -> DamageRows:
    """What the tables say of the wanted ledgers: no more rows than they count, and one for each ledger."""
    ids = {
        "damaged": _ids(one.ledger_id for one in wanted if one.damaged),
        "unverified": _ids(one.ledger_id for one in wanted if one.unverified),
        "beside": _ids(id_ for one in wanted for id_ in one.around),
    }
    names = ("damaged_entries", "rejected_entries", "stored_times", "sound_writers")
    rows = engine.rows({name: engine.sql("log", name, ids) for name in names})
    times = rows["stored_times"]
    return DamageRows(
        times={row["ledger_id"]: (row["oldest_stored_ms"], row["newest_stored_ms"]) for row in times},
        log_entries=_by_ledger((row["ledger_id"], row) for row in rows["damaged_entries"]),
        unchecked={row["ledger_id"]: one["entry_ids"] for row in times for one in row["odd"] if one["code"] == ABSENT},
        rejected=_by_ledger((row["ledger_id"], row["entry_id"]) for row in rows["rejected_entries"]),
        writers={(row["ledger_id"], row["producer_name"]) for row in rows["sound_writers"]},
    )


def _ids(ids: Iterable[int]) -> str:
    """SQL of a list of ids; one that no ledger has where there are none."""
    return ", ".join(map(str, sorted(set(ids)))) or "-1"


def _by_ledger(pairs: Iterable[tuple[int, _T]]) -> dict[int, list[_T]]:
    groups: dict[int, list[_T]] = {}
    for ledger_id, value in pairs:
        groups.setdefault(ledger_id, []).append(value)
    return groups


def damage_of(
    ledgers: Sequence[HurtLedger], chosen: Sequence[HurtLedger], scanned: Sequence[int], rows: DamageRows
) -> Damage:
    """The damage of one topic.

    Args:
        ledgers: all that are hurt.
        chosen: those of which damaged entries are listed, see `choose`.
        scanned: all that were scanned, ascending.
        rows: what the tables say of the chosen ones.
    """
    places = [place for one in chosen for place in sorted(_places(one, rows), key=lambda place: place.entry_id)]
    listed = {one.ledger_id for one in chosen if one.unverified}
    damaged = sum(place.kind != "absent" for place in places)
    return Damage(
        places=tuple(places),
        unlisted=max(sum(one.damaged for one in ledgers) - damaged, 0),
        unverified=tuple(one.ledger_id for one in ledgers if one.unverified and one.ledger_id not in listed),
        ledgers=tuple(scanned),
    )


def _places(one: HurtLedger, rows: DamageRows) -> Iterable[Damaged]:
    """The damaged entries of a ledger."""
    nothing = None, None
    after_ms = rows.times.get(one.before, nothing)[0] if one.before is not None else None
    before_ms = rows.times.get(one.after, nothing)[1] if one.after is not None else None
    claims = {row["entry_id"]: row for row in rows.log_entries.get(one.ledger_id, ())}
    kinds: dict[int, DamageKind] = {id_: row["checksum_state"] for id_, row in claims.items()}
    kinds |= dict.fromkeys(rows.rejected.get(one.ledger_id, ()), "reject")
    if one.unverified:
        kinds |= dict.fromkeys(rows.unchecked.get(one.ledger_id, ()), "absent")
    for entry_id, kind in kinds.items():
        row = claims.get(entry_id, {})
        yield Damaged(
            one.ledger_id, entry_id, kind, after_ms, before_ms, chunk_uuid=row.get("uuid"),
            **{name: row.get(name) for name in _CLAIMS},
            garbled=kind == "mismatch" and _names_nobody(row, one, rows.writers),
        )  # fmt: skip


def _names_nobody(row: Mapping[str, Any], one: HurtLedger, writers: Collection[tuple[int, str]]) -> bool:
    """Whether its producer wrote nothing sound near it, and nothing else says that it is what it seems.

    A uuid that ends with the entry's own sequence id was not damaged together with it, whoever the producer is.
    """
    if any((ledger_id, row["producer_name"]) in writers for ledger_id in one.around):
        return False
    return row["uuid"] is None or not row["uuid"].endswith(f"-{row['sequence_id']}")
