"""`python -m bench differences`: random logs of two clusters with planted differences: all are found, none is invented.

A family is what one producer sent in a row: messages with sequence ids of their own, members of a batch without, or a
message of chunks. Some have a deed: something is done to them on one side. The rest is what clusters do anyhow: batches
and ledgers that end elsewhere, streams that overtake each other, logs that begin later or end before.

| deed | on a side | expected |
|---|---|---|
| `missing` | a message is left out | `missing` |
| `twice` | it is stored once more behind its family | `duplicate` |
| `content` | it holds something else on B | `content` |
| `order` | two neighbours change places on B | `order`, of either |
| `broken` | a message of chunks lacks some | `broken` |
| `local` | it was not to be replicated | `policy` |
| `repaired` | a repair appended it to the end of B | nothing |
| `anew` | its family was batched anew on B, with one publish time | nothing |

Everything runs but the reading of bytes: rows of `messages` are digested, added up in buckets and compared as `compare`
does it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from pulsar_backlog.ledgers.values import PlannedCopy
from pulsar_backlog.messages.provenance import ACTION_PROPERTY, LOOP_PROPERTY
from pulsar_backlog.options import Options
from pulsar_backlog.replicas.buckets import of_ledger
from pulsar_backlog.replicas.digests import DIGEST_VERSION, digest_rows
from pulsar_backlog.sql.audited_side import AuditedSide
from pulsar_backlog.sql.digests import Digests
from pulsar_backlog.steps.cluster_comparison import Comparison, TopicPair
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.terms import Position

FAMILIES, FAMILIES_OF_TOPIC = 100_000, 200
START_MS = 1_763_000_000_000
DEEDS = ("missing a", "missing b", "twice a", "twice b", "content", "order", "broken a", "broken b", "local",
         "repaired", "anew")  # fmt: skip
DEED_SHARE = 0.25
SIDES = ("a", "b")
HOME = {"eu": "a", "us": "b"}
"""The side whose cluster messages of a stream were sent to."""

Difference = tuple[str, str, str, int]
"""Kind, side, producer and sequence id."""
Log = list["Stored"]


@dataclass(frozen=True)
class Stored:
    """A message as one side stores it; what is alike on both sides is alike here."""

    stream: str
    producer: str
    sequence_id: int
    time_ms: int
    payload: bytes
    family: int
    uuid: str | None = None
    numbered: bool = True
    replicate_to: tuple[str, ...] = ()
    is_repair: bool = False
    alone: bool = False
    """Whether it is an entry of its own."""


@dataclass
class Family:
    """What one producer sent in a row, and what is done to it."""

    messages: list[Stored]
    deed: str = ""


@dataclass
class Planted:
    """Two logs of a topic and what differs in them.

    Attributes:
        expected: differences that must be found.
        orders: of each pair that changed places the two, one of which must be found.
        broken: messages of chunks that a side holds in part.
    """

    logs: dict[str, Log]
    expected: Counter[Difference] = field(default_factory=Counter)
    orders: list[set[Difference]] = field(default_factory=list)
    broken: dict[str, Log] = field(default_factory=lambda: {"a": [], "b": []})


@dataclass(frozen=True)
class _Side(AuditedSide):
    """An audit that is not asked for where chunks begin."""

    begins: Mapping[tuple[str, int], Position] = field(default_factory=dict)

    def chunk_begins(self, topic: str, uuids: Sequence[str]) -> dict[tuple[str, int], Position]:
        return dict(self.begins)


def planted(seed: int, number: int, count: int = FAMILIES_OF_TOPIC) -> Planted:
    """Two logs of a topic: the same for the same seed and number of the topic."""
    chance = np.random.default_rng([seed, number])
    families = list(_families(chance, count))
    head, tail = (int(chance.integers(0, 6)) if chance.random() < 0.3 else 0 for _ in range(2))
    both = families[head : count - tail]
    _choose_deeds(chance, both)
    topic = Planted({"a": [], "b": []})
    appended: Log = []
    shift = int(chance.integers(-4, 5))
    in_turn = sorted(range(len(both)), key=lambda at: (at + (shift if _stream(both[at]) == "us" else 0), at))
    parts = {at: _done(chance, one, topic, appended) for at, one in enumerate(both)}
    early, late = _all(families[:head]), _all(families[count - tail :])
    topic.logs["a"] = [*early, *(one for at in range(len(both)) for one in parts[at]["a"]), *late]
    topic.logs["b"] = [*(one for at in in_turn for one in parts[at]["b"]), *appended]
    last_ms = max(one.time_ms for one in topic.logs["b"])
    for one in early:
        topic.expected["policy", "b", one.producer, one.sequence_id] += 1
    for one in late:
        kind = "missing" if one.time_ms < last_ms else "in_flight"
        topic.expected[kind, "b", one.producer, one.sequence_id] += 1
    return topic


def _families(chance: np.random.Generator, count: int) -> Iterator[Family]:
    numbers: Counter[str] = Counter()
    now_ms = START_MS
    for family in range(count):
        stream = "eu" if chance.random() < 0.6 else "us"
        producer = f"{stream}-{chance.integers(0, 3)}"
        kind = chance.choice(["plain", "unnumbered", "chunked"], p=[0.75, 0.15, 0.1])
        size = 1 if kind == "chunked" else int(chance.integers(2 if kind == "unnumbered" else 1, 6))
        messages = []
        for member in range(size):
            now_ms += int(chance.integers(0, 700)) if member == 0 or chance.random() < 0.5 else 0
            one_id = numbers[producer]
            numbers[producer] += kind != "unnumbered" or member == size - 1
            uuid = f"{producer}-{one_id}" if kind == "chunked" else None
            begin_ms = messages[0].time_ms if kind == "unnumbered" and messages else now_ms
            payload = b"%d %d %d" % (family, member, chance.integers(0, 1000))
            messages.append(
                Stored(stream, producer, one_id, begin_ms, payload, family, uuid, numbered=kind != "unnumbered")
            )
        yield Family(messages)


def _stream(family: Family) -> str:
    return family.messages[0].stream


def _all(families: Sequence[Family]) -> Log:
    return [one for family in families for one in family.messages]


def _choose_deeds(chance: np.random.Generator, families: Sequence[Family]) -> None:
    """Deeds for some families; none for the first and last of a stream, which show where its logs begin and end."""
    for stream in HOME:
        for family in [one for one in families if _stream(one) == stream][1:-1]:
            if chance.random() < DEED_SHARE:
                possible = [deed for deed in DEEDS if _is_possible(deed, family)]
                family.deed = str(chance.choice(possible))


def _is_possible(deed: str, family: Family) -> bool:
    first, size = family.messages[0], len(family.messages)
    if deed.startswith("broken"):
        return first.uuid is not None
    if deed in ("order", "anew"):
        return first.numbered and size > 1
    return deed != "repaired" or (first.numbered and first.stream == "eu")


def _done(chance: np.random.Generator, family: Family, topic: Planted, appended: Log) -> dict[str, Log]:
    """The messages of a family on both sides, and what is expected of them."""
    deed, _, side = family.deed.partition(" ")
    logs = {one: list(family.messages) for one in SIDES}
    at = int(chance.integers(0, len(family.messages)))
    victim = family.messages[at]
    if deed in ("missing", "broken"):
        del logs[side][at]
        topic.expected[deed, side, victim.producer, victim.sequence_id] += 1
        topic.broken[side] += [victim] if deed == "broken" else []
    elif deed == "twice":
        logs[side].append(replace(victim, alone=True))
        topic.expected["duplicate", side, victim.producer, victim.sequence_id] += 1
    elif deed == "content":
        logs["b"][at] = replace(victim, payload=victim.payload + b"!")
        topic.expected["content", "both", victim.producer, victim.sequence_id] += 1
    elif deed == "order":
        at = min(at, len(family.messages) - 2)
        logs["b"][at : at + 2] = reversed(logs["b"][at : at + 2])
        topic.orders.append({("order", "both", one.producer, one.sequence_id) for one in family.messages[at : at + 2]})
    elif deed == "local":
        home = HOME[victim.stream]
        logs[home][at] = replace(victim, replicate_to=("__local__",))
        away = "b" if home == "a" else "a"
        del logs[away][at]
        topic.expected["policy", away, victim.producer, victim.sequence_id] += 1
    elif deed == "repaired":
        del logs["b"][at]
        appended.append(replace(victim, is_repair=True, alone=True))
    elif deed == "anew":
        logs["b"] = [replace(one, time_ms=family.messages[0].time_ms) for one in logs["b"]]
    return logs


def _rows(chance: np.random.Generator, side: str, log: Log) -> Iterator[dict[str, Any]]:
    """Rows of `messages`: entries and ledgers end where they like."""
    ledger_id, entry_id, batch_index = 10 if side == "a" else 1000, -1, -1
    before: Stored | None = None
    left = int(chance.integers(20, 80))
    cut = False
    for one in log:
        is_new = before is None or before.family != one.family
        cut = (side == "b" and chance.random() < 0.5) if is_new else cut
        together = before is not None and not is_new and not one.alone and not before.alone and one.uuid is None
        if together and (chance.random() < 0.6 if one.numbered else not cut):
            batch_index += 1
        else:
            left -= 1
            if left < 0:
                ledger_id, entry_id, left = ledger_id + 1, -1, int(chance.integers(20, 80))
            entry_id, batch_index = entry_id + 1, 0 if one.uuid is None and not one.alone else -1
        before = one
        repair = [(LOOP_PROPERTY, "p"), (ACTION_PROPERTY, "1")] if one.is_repair else []
        yield {
            "ledger_id": ledger_id, "entry_id": entry_id, "batch_index": batch_index, "producer_name": one.producer,
            "sequence_id": one.sequence_id, "publish_time_ms": one.time_ms, "chunk_uuid": one.uuid,
            "properties": repair, "replicated_from": None if HOME[one.stream] == side else one.stream,
            "payload": one.payload,
            "payload_bytes": len(one.payload), "replicate_to": list(one.replicate_to) or None, "verified": True,
            "outcome": "exported",
        }  # fmt: skip


def _digests(chance: np.random.Generator, topic: str, side: str, log: Log) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Rows of `message_digests`, `digest_buckets` and `digest_ledgers`."""
    rows = pa.RecordBatch.from_pylist(list(_rows(chance, side, log)), schema=arrow_schema(TABLES["messages"]))
    digests = pa.Table.from_batches([digest_rows(rows, "eu", side, topic)])
    ledgers = Counter(digests["ledger_id"].to_pylist())
    buckets = [
        batch for one in sorted(ledgers)
        for batch in of_ledger(digests.filter(pa.compute.equal(digests["ledger_id"], one)))
    ]  # fmt: skip
    books = [
        {"cluster": "eu", "side": side, "topic": topic, "ledger_id": one, "source": side, "copy": "",
         "messages": number, "unreadable": 0, "unopened": 0, "complete": True, "digest_version": DIGEST_VERSION}
        for one, number in ledgers.items()
    ]  # fmt: skip
    schema = arrow_schema(TABLES["digest_ledgers"])
    return digests, pa.Table.from_batches(buckets), pa.Table.from_pylist(books, schema=schema)


def _audit(side: str, topic: str, digests: pa.Table, broken: Log) -> _Side:
    ledgers = sorted(set(digests["ledger_id"].to_pylist()))
    copies = [PlannedCopy(topic, one, "", "jcloud", None, None, 1, None, None, None, ()) for one in ledgers]
    sets = [
        {"topic": topic, "chunk_uuid": one.uuid, "publish_time_ms": one.time_ms, "producer_name": one.producer,
         "sequence_id": one.sequence_id, "state": "gap", "rebuildable": False, "last_ledger_id": ledgers[0],
         "last_entry_id": 0, "sureness": "certain", "reason": ""}
        for one in broken
    ]  # fmt: skip
    return _Side(side, "eu" if side == "a" else "us", side, Options(), copies, [], [], sets, [])


def mistakes(connection: duckdb.DuckDBPyConnection, seed: int, number: int) -> list[str]:
    """What the comparison of one topic did not find, and what it invented."""
    topic = f"persistent://t/n/{seed}-{number}"
    logs = planted(seed, number)
    chance = np.random.default_rng([seed, number, 1])
    sides = {side: _digests(chance, topic, side, logs.logs[side]) for side in SIDES}
    for at, name in enumerate(("message_digests", "digest_buckets", "digest_ledgers")):
        connection.register(name, pa.concat_tables([sides["a"][at], sides["b"][at]]))
    audits = [_audit(side, topic, sides[side][0], logs.broken[side]) for side in SIDES]
    comparison = Comparison(Digests(connection, "eu"), audits[0], audits[1], "eu")
    (compared,) = comparison.topics([TopicPair(topic, topic)])
    columns = ("kind", "side", "producer_name", "sequence_id")
    found = Counter(tuple(row.values()) for row in compared.differences.select(columns).to_pylist())
    wrong = []
    for pair in logs.orders:
        of_pair = [one for one in pair if found[one]]
        wrong += [] if len(of_pair) == 1 else [f"order: {len(of_pair)} of {sorted(pair)}"]
        found.subtract(of_pair)
    wrong += [f"not found: {one}" for one in (logs.expected - found).elements()]
    wrong += [f"invented: {one}" for one in (found - logs.expected).elements()]
    return [f"seed {seed}, topic {number}: {one}" for one in wrong]


def main(argv: list[str]) -> int:
    """Compare; 1 where something was not found, or invented."""
    parser = argparse.ArgumentParser(prog="python -m bench differences", description=__doc__.partition("\n")[0])
    parser.add_argument("--families", type=int, default=FAMILIES)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    began, wrong, topics = time.monotonic(), 0, -(-options.families // FAMILIES_OF_TOPIC)
    with duckdb.connect() as connection:
        for number in range(topics):
            for line in mistakes(connection, options.seed, number):
                wrong += 1
                print(line, flush=True)
    seconds = time.monotonic() - began
    print(f"{topics * FAMILIES_OF_TOPIC:,} families in {topics:,} topics, {seconds:.0f} s: {wrong} mistakes")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
