"""Random logs, one byte of one entry flipped: what lacks a chunk is not lost for certain, and no plan acknowledges it.

From bytes through the real decoder, the fold, the stall rules and the plan. What Spark does between them (columns
renamed, the books of damaged entries) is written out here; tests/steps and tests/jobs hold the two together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from pulsar_backlog.chunks.fold import fold_family
from pulsar_backlog.chunks.rows import ChunkRow, Damage, FamilyFold, LogEdge
from pulsar_backlog.cluster.values import TopicState
from pulsar_backlog.repair.acked_entries import entries_of_runs
from pulsar_backlog.repair.planning import values as plans
from pulsar_backlog.repair.planning.plan import plan_repair
from pulsar_backlog.steps.damage import DamageRows, choose, damage_of, in_order
from pulsar_backlog.steps.log_edges import _edge
from pulsar_backlog.subscriptions.stall_values import ChunkSet, Copy, Stall, StallVerdict, SubscriptionView
from pulsar_backlog.subscriptions.stalls import judge
from pulsar_backlog.wire.columns import decode_entries
from tests.examples import examples
from tests.wire.encode import entry, number, pair, run

GRACE_MS = 1000
SOON_MS, LATE_MS = 10, 5000
SLICE = 30
LOST = ("orphan_prefix", "headless", "gap")

Position = tuple[int, int]
Key = tuple[str, int]
"""Producer and sequence id."""


@dataclass(frozen=True)
class Stored:
    """An entry of the log: its bytes, and what they are in truth."""

    position: Position
    data: bytes
    prefix: int
    """Bytes before the checksum, which nothing vouches for."""
    key: Key
    chunk: int | None
    time_ms: int


@dataclass(frozen=True)
class Log:
    """A log, the entry of which a byte is flipped, and that byte."""

    entries: tuple[Stored, ...]
    damaged: Stored
    at: int
    flip: int

    @property
    def flipped(self) -> list[Stored]:
        data = bytearray(self.damaged.data)
        data[self.at] ^= self.flip
        return [replace(one, data=bytes(data)) if one is self.damaged else one for one in self.entries]


def message(key: Key, time_ms: int, n: int | None, chunk: int | None, has_uuid: bool) -> tuple[bytes, bytes]:
    """Metadata and payload of a plain message (n is None) or of one chunk."""
    producer, sequence_id = key
    metadata = run(1, producer.encode()) + number(2, sequence_id) + number(3, time_ms)
    if n is None or chunk is None:
        return metadata + number(9, SLICE), b"m" * SLICE
    total = SLICE * (n - 1) + SLICE // 2
    # Slices of one message are alike, as those of empty disk images are: their payload tells nothing apart.
    payload = b"z" * (SLICE if chunk < n - 1 else SLICE // 2)
    metadata += pair(b"k", b"v") + number(9, total)
    uuid = f"{producer}-{sequence_id}" if has_uuid else f"5f0c3b1e-{sequence_id}"  # as clients of 2.6.0 made them
    metadata += run(26, uuid.encode()) + number(27, n) + number(28, total) + number(29, chunk)
    return metadata, payload


@st.composite
def sent(draw: st.DrawFn) -> list[tuple[Key, int | None, int | None]]:
    """What is stored, in order: key, number of chunks, chunk id. Messages of several threads interleave; some break."""
    queues: list[list[tuple[Key, int | None, int | None]]] = []
    for sequence_id in range(draw(st.integers(2, 5))):
        key = draw(st.sampled_from(["p", "q", "pr"])), sequence_id
        n = draw(st.sampled_from([None, 2, 3, 3, 4]))
        chunks: list[int | None] = [None] if n is None else list(range(n))
        if n is not None and draw(st.integers(0, 3)) == 0:
            chunks.remove(draw(st.sampled_from(chunks)))  # lost in truth
        elif n is not None and draw(st.integers(0, 3)) == 0:
            cut = draw(st.integers(1, n))
            chunks = [*chunks[:cut], *chunks[draw(st.integers(0, cut - 1)) :]]  # resent after a reconnect
        queues.append([(key, n, chunk) for chunk in chunks])
    order = []
    apart = draw(st.booleans())
    while any(queues):
        queue = next(q for q in queues if q) if apart else draw(st.sampled_from([q for q in queues if q]))
        order.append(queue.pop(0))
    return order


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """A log that is known in full and goes on long after its messages, so that every verdict is as sure as can be."""
    clock = draw(st.sampled_from(["broker and index", "broker", "none"]))
    has_uuid, checksum_on_all = draw(st.booleans()), draw(st.booleans())
    rolls = draw(st.sampled_from([0, 1, 4]))
    late = draw(st.sampled_from([0, 1, 4]))
    ledger_id, entry_id, time_ms = 3, 0, 100_000
    published: dict[Key, int] = {}
    made: list[Stored] = []
    order = draw(sent())
    producers = sorted({key[0] for key, _, _ in order})
    order += [((producer, 100 + at), None, None) for at, producer in enumerate([*producers, *producers])]
    for index, (key, n, chunk) in enumerate(order):
        if key[1] >= 100 or draw(st.integers(0, 4)) < late:
            time_ms += LATE_MS
        time_ms += SOON_MS
        metadata, payload = message(key, published.setdefault(key, time_ms), n, chunk, has_uuid)
        broker = number(1, time_ms) + (number(2, index) if "index" in clock else b"") if clock != "none" else None
        has_checksum = checksum_on_all or bool(draw(st.integers(0, 9)))
        data = entry(metadata, payload, broker=broker, checksum=has_checksum)
        prefix = 0 if broker is None else 6 + len(broker)
        made.append(Stored((ledger_id, entry_id), data, prefix, key, chunk, time_ms))
        entry_id += 1
        if draw(st.integers(0, 4)) < rolls:
            ledger_id, entry_id = ledger_id + draw(st.integers(1, 2)), 0
    damaged = draw(st.sampled_from(made))
    # Evenly, where Hypothesis prefers small numbers; more often where the fields are than in the payload.
    random = draw(st.randoms(use_true_random=False))
    start, end = random.choice([(0, len(damaged.data)), (damaged.prefix + 10, len(damaged.data) - SLICE // 2)])
    return Log(tuple(made), damaged, random.randrange(start, end), random.randrange(1, 256))


# From bytes to rows.


def decoded(entries: list[Stored]) -> list[dict[str, Any]]:
    """Rows of `entries`, and of `rejects` (`checksum_state` reject), by the decoder of the scan."""
    lengths = np.array([len(one.data) for one in entries], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
    found = decode_entries(np.frombuffer(b"".join(one.data for one in entries), dtype=np.uint8), starts, lengths)
    columns = {name: column.to_pylist() for name, column in found.columns.items()}
    rows: dict[int, dict[str, Any]] = {place: {"checksum_state": "reject"} for place, _ in found.errors}
    rows |= dict(found.rows)
    for at, place in enumerate(found.plain.tolist()):
        rows[place] = {name: values[at] for name, values in columns.items()}
    return [
        rows[place] | {"ledger_id": one.position[0], "entry_id": one.position[1]} for place, one in enumerate(entries)
    ]


def stored_ms(row: dict[str, Any]) -> int | None:
    """By the broker's clock, else by the producer's."""
    time = row.get("broker_timestamp") or row.get("publish_time")
    return None if time is None else round(time.timestamp() * 1000)


def chunk_row(row: dict[str, Any]) -> ChunkRow:
    broker = row.get("broker_timestamp")
    return ChunkRow(
        row["ledger_id"], row["entry_id"], row.get("uuid") or "", row["publish_time_ms"], row.get("chunk_id"),
        row.get("num_chunks_from_msg"), row.get("total_chunk_msg_size"), "object", 0, row["payload_length"],
        row.get("payload_crc32c"), row["checksum_state"], row["producer_name"], row["sequence_id"],
        row.get("compression"), row.get("uncompressed_size"), row.get("encryption_keys") is not None,
        row.get("num_messages_in_batch"), hash(str([row.get(name) for name in ("properties", "partition_key")])),
        None if broker is None else round(broker.timestamp() * 1000),
    )  # fmt: skip


def is_chunk(row: dict[str, Any]) -> bool:
    fields = (row.get("uuid"), row.get("chunk_id"), row.get("num_chunks_from_msg"))
    readable = row["checksum_state"] != "reject" and row.get("marker_type") is None
    return readable and any(one is not None for one in fields)


def times_of(rows: list[dict[str, Any]]) -> tuple[int | None, int | None]:
    times = [ms for row in rows if (ms := stored_ms(row)) is not None]
    return min(times, default=None), max(times, default=None)


def ids_of(rows: list[dict[str, Any]], state: str) -> list[int]:
    return [row["entry_id"] for row in rows if row["checksum_state"] == state]


def damage_in(rows: list[dict[str, Any]], ledgers: list[int]) -> Damage:
    """What the facts of a scan say of its damaged entries."""
    of = {ledger_id: [row for row in rows if row["ledger_id"] == ledger_id] for ledger_id in ledgers}
    states = {ledger_id: [row["checksum_state"] for row in own] for ledger_id, own in of.items()}
    hurt = [
        {"ledger_id": id_, "damaged": found.count("mismatch") + found.count("reject"),
         "unverified": found.count("absent")}
        for id_, found in states.items() if set(found) != {"valid"}
    ]  # fmt: skip
    if not hurt:
        return Damage()
    blank = dict.fromkeys(("uuid", "producer_name", "sequence_id", "payload_length", "payload_crc32c"))
    found = DamageRows(
        times={id_: times_of([row for row in own if row["checksum_state"] != "reject"]) for id_, own in of.items()},
        log_entries={
            id_: [blank | row for row in own if row["checksum_state"] == "mismatch"
                  or (row["checksum_state"] == "absent" and is_chunk(row))]
            for id_, own in of.items()
        },
        unchecked={id_: ids_of(own, "absent") for id_, own in of.items()},
        rejected={id_: ids_of(own, "reject") for id_, own in of.items()},
        writers={
            (row["ledger_id"], row["producer_name"])
            for row in rows if row["checksum_state"] in ("valid", "absent") and row.get("marker_type") is None
        },
    )  # fmt: skip
    ordered = in_order(ledgers, hurt)
    return damage_of(ordered, choose(ordered, 100), ledgers, found)


def edge_of(rows: list[dict[str, Any]]) -> LogEdge:
    """What the books say of a topic that is seen to its end, and from its beginning."""
    ledgers = sorted({row["ledger_id"] for row in rows})
    sound = [row for row in rows if row["checksum_state"] in ("valid", "absent")]
    begin_ms, end_ms = times_of(sound)
    first, last = rows[0], rows[-1]
    facts = {
        "begin_time_ms": begin_ms, "end_time_ms": end_ms,
        "first_ledger_id": ledgers[0], "begins_at_start": first["checksum_state"] == "valid",
        "last_ledger_id": last["ledger_id"], "last_entry_id": last["entry_id"],
        "has_rejects": any(row["checksum_state"] == "reject" for row in rows),
        "open_ledgers": [], "scanned": ledgers, "unscanned": [],
    }  # fmt: skip
    topic = TopicState("t", last_confirmed=(last["ledger_id"], last["entry_id"]), publishers=0)
    return _edge(facts, topic, [], (), GRACE_MS, damage_in(rows, ledgers))


def families(rows: list[dict[str, Any]]) -> Iterator[FamilyFold]:
    edge = edge_of(rows)
    ends: dict[str, Position] = {}
    for row in rows:
        if row["checksum_state"] in ("valid", "absent") and row.get("marker_type") is None:
            ends[row["producer_name"]] = row["ledger_id"], row["entry_id"]
    chunks = sorted(map(chunk_row, filter(is_chunk, rows)), key=lambda row: row.chunk_uuid)
    for _, family in groupby(chunks, key=lambda row: row.chunk_uuid):
        yield fold_family(list(family), replace(edge, producer_last=ends))


# From verdicts to plans.


def chunk_sets(folded: FamilyFold) -> Iterator[ChunkSet]:
    for one in folded.publications:
        copies = tuple(
            Copy((role.ledger_id, role.entry_id), role.chunk_id, role.role, role.payload_length)
            for role in folded.roles
            if role.publish_time_ms == one.publish_time_ms
        )
        yield ChunkSet(
            one.chunk_uuid, one.publish_time_ms, one.state, frozenset(one.flags), one.rebuildable, one.sureness,
            one.reason, one.num_chunks, copies, any(p.state == "in_flight" for p in folded.publications),
            any(p.rebuildable for p in folded.publications),
        )  # fmt: skip


def stall_row(stall: Stall, sound: dict[Position, bool]) -> plans.StallFacts:
    key = stall.chunk_uuid, stall.publish_time_ms
    return plans.StallFacts(
        **{name: getattr(stall, name) for name in StallVerdict.__annotations__},
        subscription="s",
        entries=tuple(plans.Entry(c.position, key, c.role, sound[c.position], False) for c in stall.unacked),
        unacked_entries=len(stall.unacked),
        unacked_bytes=1,
    )


def publication_row(chunks: ChunkSet) -> plans.PublicationFacts:
    shared = ("chunk_uuid", "publish_time_ms", "state", "rebuildable", "sureness", "reason", "num_chunks")
    return plans.PublicationFacts(
        **{name: getattr(chunks, name) for name in shared},
        present_chunks=len(chunks.copies),
        stored_bytes=1,
        encrypted=False,
    )


@dataclass(frozen=True)
class Told:
    """What a user is told of a log."""

    sets: list[ChunkSet]
    stalls: list[Stall]
    acknowledged: set[Position]

    def of(self, place: Position) -> ChunkSet | None:
        """The publication that a chunk is taken to be of."""
        return next((one for one in self.sets if any(copy.position == place for copy in one.copies)), None)


def told_of(entries: list[Stored], type_: str = "Exclusive", accept: plans.Unsure | None = None) -> Told:
    rows = decoded(entries)
    last = entries[-1].position
    view = SubscriptionView("s", type_, (0, 0), last_acked=last, read_position=(last[0], last[1] + 1))
    sets = [one for folded in families(rows) for one in chunk_sets(folded)]
    judged = (judge(one, [copy.position == last for copy in one.copies], view) for one in sets)
    stalls = [stall for stall in judged if stall is not None]
    sound = {(row["ledger_id"], row["entry_id"]): row["checksum_state"] == "valid" for row in rows}
    facts = plans.TopicFacts("t", tuple(map(publication_row, sets)), tuple(stall_row(one, sound) for one in stalls))
    actions = plan_repair("c", [facts], plans.Choices(accept_unsure=accept)).plan.actions
    runs = [found for action in actions if action.kind == "acknowledge" for found in action.runs]
    return Told(sets, stalls, set(entries_of_runs(tuple(runs)).positions()))


def is_damaged(log: Log) -> bool:
    """Whether the flip is seen: not in what nothing vouches for, unless that makes the entry unreadable."""
    place = log.entries.index(log.damaged)
    return decoded(log.flipped)[place]["checksum_state"] in ("mismatch", "reject")


def missing(log: Log) -> set[Key]:
    """Messages of which a chunk is not stored, or not as it was sent."""
    n = {one.key: 0 for one in log.entries if one.chunk is not None}
    known: dict[Key, set[int]] = {key: set() for key in n}
    for one in log.entries:
        if one.chunk is not None and one is not log.damaged:
            known[one.key].add(one.chunk)
    counts = {row["uuid"]: row["num_chunks_from_msg"] for row in decoded(list(log.entries)) if row.get("uuid")}
    uuids = {one.key: decoded([one])[0]["uuid"] for one in log.entries if one.chunk is not None}
    return {key for key, ids in known.items() if len(ids) < counts[uuids[key]]}


def near(log: Log, key: Key) -> bool:
    """Whether the flipped entry lies in a ledger of the message or next to one, or within the grace time of it."""
    own = [one for one in log.entries if one.key == key]
    ledgers = sorted({one.position[0] for one in log.entries})
    first, last = (ledgers.index(one.position[0]) for one in (own[0], own[-1]))
    times = [one.time_ms for one in own]
    by_time = min(times) - GRACE_MS <= log.damaged.time_ms <= max(times) + GRACE_MS
    return first - 1 <= ledgers.index(log.damaged.position[0]) <= last + 1 or by_time


@examples(1000)
@given(logs(), st.sampled_from(["Exclusive", "Shared"]))
def test_nothing_that_lacks_a_chunk_near_damage_is_lost_for_certain(log: Log, type_: str) -> None:
    seen = is_damaged(log)
    whole_but_for_it = log.damaged.key in missing(log) and log.damaged.chunk is not None
    told = told_of(log.flipped, type_)
    event(f"{'seen' if seen else 'unseen'}, {'a chunk that is needed' if whole_but_for_it else 'something else'}")
    assert log.damaged.position not in told.acknowledged or not seen
    if not seen and log.at < log.damaged.prefix:
        return  # broker metadata: the entry is as it was sent
    for key in missing(log):
        own = [one for one in log.entries if one.key == key and one is not log.damaged]
        if not own or not (key == log.damaged.key or near(log, key)):
            continue
        verdicts = {id(found): found for one in own if (found := told.of(one.position))}.values()
        for found in verdicts:
            assert (found.state in LOST and found.sureness == "certain") is False, (key, found)
            assert not {copy.position for copy in found.copies} & told.acknowledged, (key, found)
        for stall in told.stalls:
            if any(copy.position == one.position for copy in stall.unacked for one in own):
                assert stall.action not in ("acknowledge", "skip"), stall


@examples(300)
@given(logs())
def test_the_reason_of_what_the_flip_broke_names_the_entry(log: Log) -> None:
    if not is_damaged(log) or log.damaged.key not in missing(log) or log.damaged.chunk is None:
        return
    told = told_of(log.flipped)
    place = "{}:{}".format(*log.damaged.position)
    for one in log.entries:
        found = told.of(one.position) if one.key == log.damaged.key and one is not log.damaged else None
        if found is not None and found.state in (*LOST, "malformed"):
            assert place in found.reason or "without a checksum" in found.reason, found.reason
            event(f"named: {found.reason.split(place)[-1][:60]}")


@examples(300)
@given(logs(), st.sampled_from(["likely", "cannot_tell"]))
def test_the_flipped_entry_is_not_acknowledged_even_where_the_user_takes_the_risk(
    log: Log, accept: plans.Unsure
) -> None:
    if is_damaged(log):
        assert log.damaged.position not in told_of(log.flipped, accept=accept).acknowledged


@examples(300)
@given(logs())
def test_what_only_the_flip_makes_is_never_lost_for_certain(log: Log) -> None:
    """A uuid, or a publish time, that no entry but the damaged one names."""
    true = {(row.get("uuid"), row["publish_time_ms"]) for row in decoded(list(log.entries))}
    for found in told_of(log.flipped).sets:
        if (found.chunk_uuid, found.publish_time_ms) not in true:
            assert found.sureness != "certain", found
            event("an invented message")


@examples(300)
@given(logs())
def test_without_damage_what_is_lost_is_certain(log: Log) -> None:
    """The near miss: the same logs are judged as surely as ever, and what is lost is acknowledged."""
    entries = list(log.entries)
    told = told_of(entries)
    lost = missing(replace(log, damaged=replace(log.damaged)))
    checked = all(row["checksum_state"] == "valid" for row in decoded(entries))
    for found in told.sets:
        key = next(one.key for one in entries if one.position == found.copies[0].position)
        if key in lost and checked:
            assert (found.state in LOST, found.sureness) == (True, "certain"), found
            assert {copy.position for copy in found.copies} <= told.acknowledged
            event("lost for certain")


# Each field once, so that no reader must trust to luck.

TARGET = 4
"""Of five messages the third is damaged: p-2, chunk 1 of 3, stored as the entry with this number."""


def plain_log(clock: bool, roll_at: tuple[int, ...] = ()) -> list[Stored]:
    """Three messages, of which the middle one has three chunks."""
    order: list[tuple[Key, int | None, int | None]] = [
        (("p", 0), None, None), (("q", 7), 2, 0), (("q", 7), 2, 1),
        (("p", 2), 3, 0), (("p", 2), 3, 1), (("p", 2), 3, 2), (("p", 3), None, None), (("q", 8), None, None),
    ]  # fmt: skip
    made, ledger_id, entry_id = [], 3, 0
    for at, (key, n, chunk) in enumerate(order):
        if at in roll_at:
            ledger_id, entry_id = ledger_id + 1, 0
        time_ms = 100_000 + at * SOON_MS + (LATE_MS if at > 5 else 0)
        metadata, payload = message(key, 100_000 + key[1], n, chunk, True)
        broker = number(1, time_ms) + number(2, at) if clock else None
        data = entry(metadata, payload, broker=broker)
        made.append(Stored((ledger_id, entry_id), data, 0 if broker is None else 6 + len(broker), key, chunk, time_ms))
        entry_id += 1
    return made


@pytest.mark.parametrize("clock", [True, False])
@pytest.mark.parametrize("roll_at", [(), (4,), (5,), (4, 5), (3, 4, 5, 6)])
def test_every_bit_of_a_middle_chunk(clock: bool, roll_at: tuple[int, ...]) -> None:
    made = plain_log(clock, roll_at)
    whole = told_of(made)
    assert {one.state for one in whole.sets} == {"whole"}
    target = made[TARGET]
    kinds = set()
    for at in range(target.prefix, len(target.data)):
        for bit in range(8):
            log = Log(tuple(made), target, at, 1 << bit)
            told = told_of(log.flipped)
            kinds.add(decoded(log.flipped)[TARGET]["checksum_state"])
            found = told.of(made[3].position)
            assert found is not None
            assert not found.rebuildable
            assert (found.sureness, found.state in (*LOST, "whole", "out_of_order")) == ("likely", True), (at, bit)
            assert "{}:{}".format(*target.position) in found.reason
            assert told.acknowledged == set()
            assert {stall.action for stall in told.stalls} <= {"wait"}, (at, bit, told.stalls)
    assert kinds == {"mismatch", "reject"}


def test_the_log_above_has_a_neighbour_for_every_entry() -> None:
    places = [one.position for one in plain_log(True, (3, 4, 5, 6))]
    assert all(after > before for before, after in pairwise(places))
