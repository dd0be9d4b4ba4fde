"""What subscriptions are stuck on: real folds and models on small logs, what compaction cut, findings; both engines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.chunks.clients.reopened import models_to_ask
from pulsar_backlog.chunks.fold import fold_family
from pulsar_backlog.chunks.rows import ChunkRow, Picked
from pulsar_backlog.cursors.acked import AckedSet, BitMap
from pulsar_backlog.frames.subscriptions.ack_join import ACKS_DDL
from pulsar_backlog.steps.subscription_acks import subscription_rows
from pulsar_backlog.steps.subscription_stalls import findings_of_stalls, name_stalls, stall_rows
from pulsar_backlog.subscriptions.analysed import COMPACTION
from pulsar_backlog.subscriptions.stall_values import SubscriptionView
from pulsar_backlog.subscriptions.states import States, by_topic, state_of
from pulsar_backlog.tables.arrow import ddl_schema
from pulsar_backlog.terms import Position
from tests.chunks.build import edge, row
from tests.engines import ENGINES, asked_of, job_context, listed
from tests.frames.rows import NOON_MS, table_rows

NEEDS_SPARK = True

CLUSTER = {"cluster": "c"}
LATER_MS, EARLIER_MS = NOON_MS, NOON_MS - 5000
TOPIC = "persistent://t/n/one"
NAMES = ("noted_entries", "chunks", "chunked_messages", "ledger_facts")
Row = dict[str, Any]
Judging = Callable[..., list[Row]]


@pytest.fixture(params=ENGINES)
def judge(request: pytest.FixtureRequest, spark: SparkSession) -> Judging:
    """Rows of `stalls` of small tables."""

    def stalls(states: States, horizons: dict[str, Position] | None = None, **given: list[Row]) -> list[Row]:
        tables = {name: table_rows(name, [CLUSTER | one for one in given.get(name, [])]) for name in NAMES}
        with asked_of(request.param, job_context(spark), tables) as asked:
            name_stalls(asked, states, horizons or {}, models_to_ask(()), "c")
            return listed(stall_rows(asked))

    return stalls


def chunk(word: str, entry_id: int) -> ChunkRow:
    """`A1` is chunk 1 of 3 under the uuid A, `a1` the same at an earlier publish time."""
    uuid = word[0].upper()
    return row(
        int(word[1]), entry_id, 3, chunk_uuid=uuid, publish_time_ms=LATER_MS if word[0].isupper() else EARLIER_MS,
        broker_timestamp_ms=NOON_MS, sequence_id=ord(uuid),
    )  # fmt: skip


def log(text: str) -> dict[str, list[Row]]:
    """Tables of a topic whose log is written as words; `.` is a plain message."""
    rows = [chunk(word, at) for at, word in enumerate(text.split()) if word != "."]
    at = edge(end_time_ms=NOON_MS + 3_600_000)
    folds = [fold_family([r for r in rows if r.chunk_uuid == uuid], at) for uuid in {r.chunk_uuid for r in rows}]
    noted = [
        {
            "topic": TOPIC, "ledger_id": r.ledger_id, "entry_id": r.entry_id, "uuid": r.chunk_uuid,
            "chunk_id": r.chunk_id, "num_chunks_from_msg": 3, "total_chunk_msg_size": r.total_bytes,
            "payload_length": r.payload_length, "publish_time_ms": r.publish_time_ms,
            "uncompressed_size": r.uncompressed_size, "checksum_state": "valid",
        }
        for r in rows
    ]  # fmt: skip
    last = len(text.split()) - 1
    return {
        "chunked_messages": [in_table(asdict(one)) for fold in folds for one in fold.publications],
        "chunks": [in_table(asdict(one)) for fold in folds for one in fold.roles],
        "noted_entries": noted,
        "ledger_facts": [{"topic": TOPIC, "ledger_id": 7, "entries": last + 1, "last_entry_id": last}],
    }


def in_table(made: Row) -> Row:
    lists = {"manifest": Picked._fields, "missing_bytes": ("start", "end")}
    return {"topic": TOPIC} | {
        name: [dict(zip(lists[name], one, strict=True)) for one in value] if name in lists else value
        for name, value in made.items()
    }


def advised(judge: Judging, text: str, acked: str = "", type_: str | None = "Exclusive") -> dict[str, Row]:
    """Rows of `stalls` by message, of a subscription that read everything and acknowledged the marked entries."""
    end = len(text.split())
    done = BitMap([at for at, mark in enumerate(acked) if mark == "#"])
    mark = next((at for at in range(len(text) + 1) if at not in done), 0) - 1
    last_acked = (7, max(done)) if done and max(done) > mark else None
    view = SubscriptionView("s", type_, (7, mark), last_acked, (7, end))
    states = by_topic([(TOPIC, state_of(view, AckedSet(view.mark_delete, {7: done} if done else {}), {}, None))])
    found = judge(states, **log(text))
    return {r["chunk_uuid"] if r["publish_time_ms"] == LATER_MS else r["chunk_uuid"].lower(): r for r in found}


def test_a_whole_message_that_every_client_delivers_is_waited_for(judge: Judging) -> None:
    rows = advised(judge, "A0 A1 A2 .", "...#")
    assert (rows["A"]["kind"], rows["A"]["action"]) == ("whole_hole", "wait")


def test_a_whole_message_behind_an_unfinished_one_of_its_uuid_is_exported(judge: Judging) -> None:
    """Java and Go deliver it. C++ and Python do not, however often they are opened."""
    rows = advised(judge, "a0 a1 A0 A1 A2 .", ".....#")
    assert (rows["A"]["kind"], rows["A"]["action"]) == ("whole_hole", "export_then_acknowledge")
    assert "python does not deliver it as sent" in rows["A"]["advice"]
    assert rows["a"]["action"] == "export_then_acknowledge"
    assert "export that one" in rows["a"]["advice"]


def test_what_reuses_a_uuid_and_is_delivered_by_all_is_no_stall(judge: Judging) -> None:
    assert advised(judge, "a0 a1 a2 A0 A1 A2", "") == {}
    assert advised(judge, "a0 a1 a2 A0 A1 A2", "###...") == {}


def test_what_the_acknowledged_took_with_it_decides(judge: Judging) -> None:
    """The one before is whole in the log, but what is left of it is a beginning without an end."""
    assert advised(judge, "a0 a1 a2 A0 A1 A2 .", "..#...#")["A"]["action"] == "export_then_acknowledge"
    assert advised(judge, "a0 a1 a2 A0 A1 A2 .", "###...#")["A"]["action"] == "wait"


def test_a_reset_is_advised_only_where_it_helps_every_client(judge: Judging) -> None:
    assert advised(judge, "A0 A1 A2", "##")["A"]["action"] == "reset_to_first_chunk"
    # Acknowledged without end, the earlier one of the uuid does not come again.
    assert advised(judge, "a0 a1 A0 A1 A2", "####")["A"]["action"] == "reset_to_first_chunk"


def test_what_stands_before_it_on_a_shared_subscription_is_named(judge: Judging) -> None:
    rows = advised(judge, "B1 B2 A0 A1 A2 .", ".....#", "Shared")
    assert rows["A"]["action"] == "wait"
    assert "does not get past the entry at 7:" in rows["A"]["advice"]


@pytest.mark.parametrize("type_", ["Exclusive", "Failover", "Key_Shared", None])
def test_every_type_is_asked_about(judge: Judging, type_: str | None) -> None:
    assert advised(judge, "a0 a1 A0 A1 A2 .", ".....#", type_)["A"]["action"] == "export_then_acknowledge"


CUT = {
    "topic": TOPIC, "chunk_uuid": "p-1", "publish_time_ms": 1, "state": "whole", "num_chunks": 3, "copies": 3,
    "rebuildable": True, "first_ledger_id": 7, "first_entry_id": 10, "last_ledger_id": 7, "last_entry_id": 12,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "has_key", "is_cut"),
    [
        pytest.param({}, True, True, id="its last chunk is the last entry that was compacted"),
        pytest.param({"last_entry_id": 13}, True, False, id="its last chunk lies behind the horizon"),
        pytest.param({"last_ledger_id": 8, "last_entry_id": 0}, True, False, id="it ends in a later ledger"),
        pytest.param({"state": "orphan_prefix"}, True, False, id="it was broken before"),
        pytest.param({"num_chunks": 1}, True, False, id="one chunk is all of it"),
        pytest.param({}, False, False, id="compaction leaves what has no key to another setting"),
        pytest.param({"topic": f"{TOPIC}-2"}, True, False, id="its topic is not compacted"),
    ],
)
def test_only_what_compaction_reached_is_cut(judge: Judging, changed: Row, has_key: bool, is_cut: bool) -> None:
    message = CUT | changed
    noted = {"topic": message["topic"], "ledger_id": 7, "entry_id": 10, "has_key": has_key}
    found = judge({}, {TOPIC: (7, 12)}, chunked_messages=[message], noted_entries=[noted])
    assert len(found) == is_cut
    for stall in found:
        assert (stall["subscription"], stall["code"], stall["action"]) == (COMPACTION, "C28", "none")
        assert (stall["first_chunk_entry_id"], stall["last_entry_id"], stall["sureness"]) == (10, 12, "likely")


def acks(*rows: Row) -> pa.Table:
    schema = ddl_schema(ACKS_DDL)
    blank = {name: "" if name in ("topic", "subscription", "kind") else 0 for name in schema.names if name != "x"}
    lists = {"unacked_batch_indexes": None, "impossible": None}
    return pa.Table.from_pylist([blank | lists | one for one in rows], schema=schema)


@pytest.mark.parametrize("engine", ENGINES)
def test_findings_name_where_sets_begin_and_batches_that_cannot_be(engine: str, spark: SparkSession) -> None:
    cut = {
        "topic": TOPIC, "subscription": COMPACTION, "chunk_uuid": "p-1", "kind": "compaction_truncation",
        "code": "C28", "action": "none", "sureness": "likely", "unacked_positions": [], "also": [],
        "first_chunk_ledger_id": 7, "first_chunk_entry_id": 10,
    }  # fmt: skip
    # A stall of two kinds with one code is one place; its first copy that is not acknowledged is where it begins.
    two = cut | {
        "subscription": "s", "kind": "head_acked", "also": ["last_only"], "code": "C23",
        "unacked_positions": [{"ledger_id": 7, "entry_id": 11}],
    }  # fmt: skip
    tables = {
        # Where another subscription stalls too is the same place.
        "new_stalls": table_rows("stalls", [cut, two, two | {"subscription": "other"}]),
        "acks": acks(
            {"topic": "bad", "ledger_id": 5, "first_entry_id": 7, "impossible": True},
            {"topic": "bad", "ledger_id": 5, "first_entry_id": 3, "impossible": True},
            # a batch of which a part is acknowledged, as it should be
            {"topic": "bad", "ledger_id": 5, "first_entry_id": 9, "impossible": False},
            {"topic": "good", "ledger_id": 6, "first_entry_id": 1, "impossible": False},
            # a run of whole entries has no batch
            {"topic": "runs", "ledger_id": 7, "first_entry_id": 0},
        ),
    }
    context = job_context(spark)
    with asked_of(engine, context, tables) as asked:
        found = {str(one["code"]): one for one in listed(findings_of_stalls(context, asked))}
    assert {code: (one["topic"], one["count"], one["evidence"]) for code, one in found.items()} == {
        "C28": (TOPIC, 1, ["7:10"]),
        "C23": (TOPIC, 2, ["7:11"]),
        "K12": ("bad", 2, ["5:3", "5:7"]),
    }


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("written_ms", "year"),
    [
        (1_700_000_000_123, 2023),
        (253_402_300_799_999, 9999),
        (253_402_300_800_000, None),
        (-1, None),
        (2**63 - 1, None),
    ],
)
def test_the_oldest_is_named_with_a_time_that_a_table_can_hold(
    engine: str, spark: SparkSession, written_ms: int, year: int | None
) -> None:
    place = {"topic": TOPIC, "subscription": "s", "ledger_id": 7, "kind": "sum", "entries": 2, "bytes": 9}
    tables = {
        "acks": acks(
            place | {"first_entry_id": 4, "publish_time_ms": written_ms, "broker_time_ms": written_ms},
            place | {"ledger_id": 8, "first_entry_id": 0, "publish_time_ms": 1, "broker_time_ms": 1},
            place | {"kind": "hole", "entries": 1},
        ),
        "new_stalls": table_rows("stalls", []),
        "chunks": table_rows("chunks", []),
        "chunked_messages": table_rows("chunked_messages", []),
    }
    cursor = {
        "cluster": "c", "topic": TOPIC, "kind": "subscription", "source": "stats", "sureness": "certain", "reason": "",
        "limits": {}, "over_limits": [],
    }  # fmt: skip
    rows = [cursor | {"subscription": "s", "state": "whole"}, cursor | {"subscription": "t", "state": "unknown"}]
    context = job_context(spark)
    with asked_of(engine, context, tables) as asked:
        known, unknown = sorted(listed(subscription_rows(asked, rows)), key=lambda one: str(one["subscription"]))
    assert (known["oldest_unacked_ledger_id"], known["oldest_unacked_entry_id"]) == (7, 4)
    assert getattr(known["oldest_unacked_time"], "year", None) == year
    assert known["oldest_unacked_broker_time"] == known["oldest_unacked_time"]
    assert (known["oldest_unacked_what"], known["backlog_entries"], known["backlog_bytes"]) == ("message", 4, 18)
    assert (known["holes"], known["hole_entries"], known["stalls"]) == (1, 1, 0)
    assert (unknown["backlog_entries"], unknown["stalls"]) == (None, 0), "nobody knows"
