"""What is known about the ends of each topic's log: from its entries, the books, the ledgers, and the broker.

Every message that is called lost rests on this: what was not scanned, or may lie where nobody looked, must be named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from typing import Any

from pulsar_backlog.chunks.rows import NO_DAMAGE, Damage, LogEdge
from pulsar_backlog.cluster.absent import absent_ledgers
from pulsar_backlog.cluster.values import ClusterState, TopicState
from pulsar_backlog.errors import DecodeError
from pulsar_backlog.sql.engines import QueryEngine
from pulsar_backlog.steps import damage as damaged
from pulsar_backlog.steps.damage import damage_of_topics
from pulsar_backlog.wire.ledger_list import decode_ledger_list

_NOTHING_SAID = TopicState("")


Row = Mapping[str, Any]


TABLES_ASKED = ("scans", "ledgers", "gone_ledgers", *damaged.TABLES_ASKED)
"""Tables that are asked here."""


def edge_rows(engine: QueryEngine) -> list[Row]:
    """One row per topic, as `conf/log/edges.sql`, and with what more it takes.

    `scanned` are the ledgers on the books, `unscanned` those that are stored, in part at least, and are not: out of
    scope, without a data object, or not got to. `gone`: ledgers that were read and are not in the source any more.
    `hurt`: ledgers with damaged entries, with how many. `live_last`: where reading of live ledgers ended.
    """
    rows = engine.rows({name: engine.sql("log", name, {}) for name in ("edges", "hurt_ledgers")})
    hurt: dict[str | None, list[Row]] = {}
    for one in rows["hurt_ledgers"]:
        hurt.setdefault(one["topic"], []).append(one)
    return [
        row | {
            "hurt": hurt.get(row["topic"], []),
            "unscanned": {*(row["stored"] or ())} - {*(row["scanned"] or ())},
            "live_last": None if row["live_ledger_id"] is None else (row["live_ledger_id"], row["live_entry_id"]),
        }
        for row in rows["edges"]
    ]  # fmt: skip


def log_edges(
    rows: Collection[Row], engine: QueryEngine, state: ClusterState | None, grace_ms: int
) -> Mapping[str, LogEdge]:
    """The edges by topic. Grows with topics and ledgers, never with entries.

    Args:
        rows: as by `edge_rows`.
        engine: queried only where something is damaged, or no list of ledgers says what lies between scanned ones.
        state: what the broker said; None when nothing is saved.
        grace_ms: how long a message may take to arrive.
    """
    lists = _ledger_lists(state)
    unlisted = {row["topic"]: _unlisted_seams(row["scanned"] or (), lists.get(row["topic"], ())) for row in rows}
    unproven = _unproven_seams(engine) if any(unlisted.values()) else {}
    topics = state.topics if state else {}
    damage = damage_of_topics(rows, engine)
    return {
        row["topic"]: _edge(
            row,
            topics.get(row["topic"], _NOTHING_SAID),
            lists.get(row["topic"], ()),
            tuple(sorted(unlisted[row["topic"]] & unproven.get(row["topic"], set()))),
            grace_ms,
            damage.get(row["topic"], NO_DAMAGE),
        )
        for row in rows
    }


LedgerList = Mapping[int, bool]
"""Ledger ids of one document, each with whether it may hold entries."""


def _ledger_lists(state: ClusterState | None) -> dict[str, list[LedgerList]]:
    """Every list of a topic's ledgers that was saved: of the admin JSON, and of the metadata store."""
    lists: dict[str, list[LedgerList]] = {}
    for topic in state.topics.values() if state else ():
        if topic.ledgers:
            lists.setdefault(topic.topic, []).append({one.ledger_id: one.entries != 0 for one in topic.ledgers})
    for value in state.stored_values if state else ():
        if value.cursor is None:
            try:
                ledgers = decode_ledger_list(value.value).ledgers
            except DecodeError:
                continue  # told where cursors are read
            lists.setdefault(value.topic, []).append({one.ledger_id: one.entries != 0 for one in ledgers})
    return lists


def _unlisted_seams(scanned: Iterable[int], lists: Iterable[LedgerList]) -> set[int]:
    """Scanned ledgers after which no list says which one comes next: it must name that one and the next scanned."""
    seams = set(pairwise(sorted(scanned)))
    return {before for before, after in seams if not any(before in one and after in one for one in lists)}


def _unproven_seams(engine: QueryEngine) -> dict[str, set[int]]:
    """Ledgers of each topic after which the next stored one does not go on with the next index (PIP-70)."""
    unproven: dict[str, set[int]] = {}
    for row in engine.rows({"seams": engine.sql("log", "unproven_seams", {})})["seams"]:
        unproven.setdefault(row["topic"], set()).add(row["ledger_id"])
    return unproven


def _edge(
    row: Mapping[str, Any], topic: TopicState, lists: Iterable[LedgerList], unknown_after: tuple[int, ...],
    grace_ms: int, damage: Damage = NO_DAMAGE,
) -> LogEdge:  # fmt: skip
    end_ms = row["end_time_ms"]
    scanned = frozenset(row["scanned"] or ())
    absent = set(row["unscanned"] or ()) | {ledger.ledger_id for ledger in absent_ledgers(topic, scanned)}
    if not topic.ledgers:
        absent |= {id_ for one in lists for id_, holds in one.items() if holds and id_ not in scanned}
    if not lists:  # a saved list tells whether the topic still has what is gone from the source
        absent |= set(row.get("gone") or ())
    last = row["last_ledger_id"], row["last_entry_id"]
    if (live := row.get("live_last")) and live[0] not in (row.get("cut") or ()):
        last = max(last, (live[0], live[1]))
    at_end = _is_at_end(last, topic.last_confirmed, absent)
    known_until = topic.known_until_ms if at_end else None
    return LogEdge(
        end_time_ms=max((ms for ms in (end_ms, known_until) if ms is not None), default=None),
        grace_ms=grace_ms,
        producer_last={},
        open_ledgers=frozenset(row["open_ledgers"] or ()),
        first_ledger_id=row["first_ledger_id"],
        begins_at_start=bool(row["begins_at_start"]),
        absent_ledgers=tuple(sorted(absent)),
        has_rejects=bool(row["has_rejects"]),
        complete_to_end=at_end,
        # A snapshot from before the end of the log does not know who came after it.
        producers_gone=at_end and topic.publishers == 0,
        is_terminated=topic.terminated_at is not None,
        is_final=_is_at_end(last, topic.terminated_at, absent),
        unknown_after=unknown_after,
        begin_time_ms=row["begin_time_ms"],
        deduplicated=topic.deduplicated is True,
        damage=damage,
    )


def _is_at_end(last: tuple[int, int], last_confirmed: tuple[int, int] | None, absent: Collection[int]) -> bool:
    """Whether the scan ends where the log ended when the broker was asked: not before, and not after that either."""
    if last_confirmed is None:
        return False
    in_empty_ledger = last_confirmed[1] < 0 and last < last_confirmed and not any(id_ > last[0] for id_ in absent)
    return last == last_confirmed or in_empty_ledger
