"""Two audits compared, topic by topic: buckets first, then the messages of such as differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.replicas.buckets import LEVELS
from pulsar_backlog.replicas.differing import Edges, Streams, differing, ranges_of, reach, wider, within
from pulsar_backlog.replicas.digests import origin_hashes
from pulsar_backlog.replicas.halves import Cursor, Fault, Half, Places
from pulsar_backlog.replicas.judging import WRONG, judge
from pulsar_backlog.replicas.rows import difference_rows
from pulsar_backlog.sql.audited_side import AuditedSide
from pulsar_backlog.sql.digests import Digests
from pulsar_backlog.terms import INCOMPLETE, Position, Sureness, least_sure

SYSTEM_TOPIC = "__"
"""How names of topics begin that Pulsar keeps for itself, in every cluster its own."""

Row = dict[str, Any]


@dataclass(frozen=True)
class TopicPair:
    """A topic by its names on both sides."""

    a: str
    b: str


@dataclass(frozen=True)
class Compared:
    """What became of a topic: its row of `compared_topics`, rows of `differences`, unread places by side."""

    row: Row
    differences: pa.Table
    gaps: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Gaps:
    """What could not be read of a topic on one side.

    Attributes:
        unscanned: ledgers that were not scanned, or not whole.
        damage: entries; entry -1 for a stretch around entries.
        unread: rows of `message_digests` without content.
    """

    unscanned: frozenset[int]
    damage: frozenset[Position]
    unread: pa.Table

    def ledgers(self) -> set[int]:
        """Their ledgers."""
        return {*self.unscanned, *(ledger for ledger, _ in self.damage)}

    def places(self) -> list[str]:
        """As a finding names them."""
        ledgers = [f"ledger:{ledger}" for ledger in sorted(self.unscanned)]
        return ledgers + [
            f"{ledger}:{entry}" if entry >= 0 else f"ledger:{ledger}" for ledger, entry in sorted(self.damage)
        ]

    def without(self, other: _Gaps, ledgers: set[int]) -> _Gaps:
        """Without those of some ledgers that the other side has too."""
        damage = frozenset(one for one in self.damage if one not in other.damage or one[0] not in ledgers)
        return replace(self, unscanned=self.unscanned - (other.unscanned & ledgers), damage=damage)


def topic_pairs(a: AuditedSide, b: AuditedSide, mapped: Mapping[str, str], wanted: Any) -> list[TopicPair]:
    """The topics of both sides by name; those of Pulsar's own are left out.

    Args:
        a: the first audit.
        b: the second one.
        mapped: name in `b` by name in `a`, where these differ.
        wanted: says of a name whether it is to be compared.
    """
    names_a = {topic for topic in a.topics.values() if topic is not None}
    names_b = {topic for topic in b.topics.values() if topic is not None}
    back = {there: here for here, there in mapped.items()}
    pairs = {TopicPair(name, mapped.get(name, name)) for name in names_a if name not in back or name in mapped}
    pairs |= {TopicPair(back.get(name, name), name) for name in names_b if name not in mapped or name in back}
    if mapped:  # whoever names topics compares these
        pairs = {pair for pair in pairs if pair.a in mapped}
    own = [pair for pair in pairs if not pair.a.rpartition("/")[2].startswith(SYSTEM_TOPIC)]
    return sorted((pair for pair in own if wanted(pair.a) or wanted(pair.b)), key=lambda pair: (pair.a, pair.b))


class Comparison:
    """Compares the topics of two audits whose digests are up to date."""

    def __init__(self, digests: Digests, a: AuditedSide, b: AuditedSide, cluster: str) -> None:
        self._digests, self._cluster = digests, cluster
        self._sides = {"a": a, "b": b}

    def topics(self, pairs: Sequence[TopicPair]) -> Iterator[Compared]:
        """The topics, one after the other."""
        for pair in pairs:
            yield self._compared(pair)

    @cached_property
    def _highest(self) -> dict[str, dict[str, pa.Table]]:
        """Buckets of the highest level by side and topic: read at once."""
        return {side: self._digests.highest(side, LEVELS[0]) for side in self._sides}

    def _compared(self, pair: TopicPair) -> Compared:
        names = {"a": pair.a, "b": pair.b}
        empty = self._digests.no_buckets()
        tables = [self._highest[side].get(name, empty) for side, name in names.items()]
        edges = Edges.of(tables[0]), Edges.of(tables[1])
        streams: list[Streams] = [{}, {}]
        count = 0
        ranges: list[tuple[int, int]] = []
        for level in LEVELS:
            if level != LEVELS[0]:
                wanted = within(ranges, level)
                tables = [self._digests.buckets(side, name, level, wanted) for side, name in names.items()]
            buckets = differing(tables[0], tables[1], edges)
            count += len(set(tables[0]["bucket"].to_pylist()) | set(tables[1]["bucket"].to_pylist()))
            for at, table in enumerate(tables):
                for stream, (first, last) in reach(table, buckets).items():
                    streams[at] = wider(streams[at], stream, first, last)
            ranges = ranges_of(buckets, level)
            if not ranges:
                break
        gaps = self._gaps(names)
        a, b = (self._half(side, names, ranges, streams[at], gaps[side]) for at, side in enumerate(names))
        rows = difference_rows(judge(a, b), a, b, self._cluster, (pair.a, pair.b))
        read = sum((end - start) >> LEVELS[-1] for start, end in ranges)
        unread = {side: of_side.places() for side, of_side in gaps.items()}
        return Compared(self._row(pair, [a, b], rows, (count, read)), rows, unread)

    def _gaps(self, names: Mapping[str, str]) -> dict[str, _Gaps]:
        """What could not be read of a topic, by side; what lies alike on both sides of one log cannot differ."""
        a, b = (self._gaps_of(side, topic) for side, topic in names.items())
        one, other = self._sides["a"], self._sides["b"]
        if names["a"] == names["b"] and (one.cluster, one.source) == (other.cluster, other.source):
            alike = {
                ledger for ledger in a.ledgers() & b.ledgers() if one.stored.get(ledger) == other.stored.get(ledger)
            }
            a, b = a.without(b, alike), b.without(a, alike)
        return {"a": a, "b": b}

    def _gaps_of(self, side: str, topic: str) -> _Gaps:
        audit, unread = self._sides[side], self._digests.unread(side, topic)
        damage = {(ledger, entry) for name, ledger, entry in audit.damage if name in (topic, None)}
        lost = unread.filter(pc.or_(pc.is_null(unread["origin"]), pc.equal(unread["outcome"], "corrupt")))
        damage |= set(zip(lost["ledger_id"].to_pylist(), lost["entry_id"].to_pylist(), strict=True))
        unscanned = frozenset(ledger for name, ledger in audit.unscanned if name in (topic, None))
        return _Gaps(unscanned, frozenset(damage), unread)

    def _half(
        self, side: str, names: Mapping[str, str], ranges: list[tuple[int, int]], streams: Streams, gaps: _Gaps
    ) -> Half:
        topic, other_side = names[side], "b" if side == "a" else "a"
        audit, other = self._sides[side], self._sides[other_side]
        rows = self._digests.messages(side, topic, ranges)
        ledgers = [copy.ledger_id for copy in audit.copies if copy.topic == topic]
        places = Places.of([*ledgers, *gaps.ledgers(), *rows["ledger_id"].to_pylist()])
        doubts = [places.whole(ledger) for ledger in gaps.unscanned]
        doubts += [places.whole(one) if entry < 0 else (places.number((one, entry)),) * 2 for one, entry in gaps.damage]
        top = self._highest[side].get(topic)
        times = self._digests.times(side, topic) if ranges else (None, None)
        return Half(
            side, audit.cluster, rows, places, streams, sorted(doubts),
            _broken(audit, other, (topic, names[other_side]), gaps.unread), _cursor(audit, other, topic, places),
            0 if top is None else int(pc.sum(top["messages"]).as_py()), *times, bool(audit.choices),
        )  # fmt: skip

    def _row(self, pair: TopicPair, halves: list[Half], rows: pa.Table, buckets: tuple[int, int]) -> Row:
        kinds = Counter(zip(rows["kind"].to_pylist(), rows["side"].to_pylist(), strict=True))
        counts = {f"{kind}_{side}": kinds[kind, side] for kind, side in _COUNTED}
        unread = [len(half.doubts) for half in halves]
        return {
            "cluster": self._cluster, "topic": pair.a, "topic_b": pair.b, "out_a": self._sides["a"].out,
            "out_b": self._sides["b"].out, "verdict": _verdict(rows, sum(unread)), "messages_a": halves[0].messages,
            "messages_b": halves[1].messages, **counts,
            "unsure": pc.sum(pc.not_equal(rows["sureness"], "certain")).as_py() or 0,
            "unread_a": unread[0], "unread_b": unread[1],
            "unopened_a": self._digests.unopened("a", pair.a), "unopened_b": self._digests.unopened("b", pair.b),
            "buckets": buckets[0], "buckets_read": buckets[1],
        }  # fmt: skip


def _verdict(rows: pa.Table, unread: int) -> str:
    """What is said of a topic."""
    wrong = rows.filter(pc.is_in(rows["kind"], pa.array(WRONG)))
    if not pc.all(pc.equal(wrong["sureness"], "cannot_tell"), min_count=0).as_py():
        return "differs"
    if wrong.num_rows or unread:
        return "cannot_tell"
    return "explained" if rows.num_rows else "equal"


_COUNTED = (
    *((kind, side) for kind in ("missing", "duplicate", "broken", "policy", "in_flight") for side in ("a", "b")),
    ("order", "both"), ("content", "both"),
)  # fmt: skip


def _broken(audit: AuditedSide, other: AuditedSide, names: tuple[str, str], unread: pa.Table) -> dict[int, Fault]:
    """Messages that are there in part, or damaged, by the origin that their metadata name."""
    sets = [row for row in audit.broken_sets if row["topic"] == names[0]]
    begins = other.chunk_begins(names[1], [row["chunk_uuid"] for row in sets]) if sets else {}
    damaged = unread.filter(pc.is_valid(unread["origin"]))
    faults: dict[int, Fault] = {}
    for row in damaged.to_pylist():
        where = f"{row['ledger_id']}:{row['entry_id']}"
        last = max(row["highest_sequence_id"] or row["sequence_id"], row["sequence_id"])
        fault = Fault(row["outcome"], *_not_read(where, row["outcome"]))
        for number in _origins(row, range(row["sequence_id"], min(last, row["sequence_id"] + _MOST_MEMBERS) + 1)):
            faults[number] = fault
    for row in sets:
        begin = begins.get((row["chunk_uuid"], row["publish_time_ms"]))
        for number in _origins(row, [row["sequence_id"]]):
            faults[number] = Fault(row["state"], *_not_whole(row), begin)
    return faults


def _not_whole(row: Row) -> tuple[Sureness, str]:
    """How sure it is that consumers there do not get a chunked message."""
    where = f"{row['last_ledger_id']}:{row['last_entry_id']}"
    reason = f"a chunked message that is {row['state']} there, the last chunk at {where}"
    if row["state"] in _NOBODY_GETS:
        return row["sureness"], reason
    return least_sure((row["sureness"], "likely")), f"{reason}; some clients may read it"


_NOBODY_GETS = INCOMPLETE | {"out_of_order"}
"""States of chunked messages that no client reads."""


def _not_read(where: str, outcome: str) -> tuple[Sureness, str]:
    """Nothing is certain: a damaged entry may be another message than it says, and others may be able to read it."""
    sureness: Sureness = "cannot_tell" if outcome == "unreadable" else "likely"
    return sureness, f"its entry at {where} is there and cannot be read: {outcome}"


_MOST_MEMBERS = 100_000
"""Members of a damaged batch that are looked for at most."""


def _origins(row: Row, sequence_ids: Sequence[int]) -> list[int]:
    count = len(sequence_ids)
    table = pa.table(
        {
            "producer_name": pa.array([row["producer_name"]] * count, pa.string()),
            "sequence_id": pa.array(list(sequence_ids), pa.int64()),
            "publish_time_ms": pa.array([row["publish_time_ms"]] * count, pa.int64()),
        }
    )
    return [int(one) for one in origin_hashes(table)[0].view(np.int64)]


def _cursor(audit: AuditedSide, other: AuditedSide, topic: str, places: Places) -> Cursor | None:
    """The cursor of the replicator to the other side: the one that names its cluster, or the only one."""
    mine = [row for row in audit.replicators if row["topic"] == topic and row["mark_delete_ledger_id"] is not None]
    named = [row for row in mine if row["subscription"].rpartition(".")[2] == other.cluster]
    chosen = named or mine
    if len(chosen) != 1 or chosen[0]["state"] == "unknown":
        return None
    row = chosen[0]
    acked = places.number((row["mark_delete_ledger_id"], row["mark_delete_entry_id"]))
    touched = acked
    if row["last_acked_ledger_id"] is not None:
        touched = max(acked, places.number((row["last_acked_ledger_id"], row["last_acked_entry_id"])))
    return Cursor(acked, touched, row["subscription"])
