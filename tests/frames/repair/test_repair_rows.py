"""What a repair is planned from: positions looked up again, whole families, exports of exactly their chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as f

from pulsar_backlog.frames.repair import restore as repair_restore
from pulsar_backlog.frames.repair import rows as repair_rows
from pulsar_backlog.frames.repair.dead_letters import dead_letter_rows
from pulsar_backlog.tables import TABLES
from tests.frames.rows import table_frame

NEEDS_SPARK = True

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOPIC = "persistent://t/n/one"
OWN = {"cluster": "c", "topic": TOPIC, "chunk_uuid": "p-0", "publish_time_ms": 1000}


def frame(spark: SparkSession, table: str, *rows: dict[str, Any]) -> DataFrame:
    """Rows of a table, of which it has as many columns as it has; required ones that a test does not name are empty."""
    names = set(TABLES[table].column_names())
    return table_frame(spark, table, ({name: row[name] for name in row.keys() & names} for row in rows))


def places(*entry_ids: int) -> list[dict[str, int]]:
    return [{"ledger_id": 1, "entry_id": entry_id} for entry_id in entry_ids]


def chunk(entry_id: int, chunk_id: int = 0, **other: Any) -> dict[str, Any]:
    at = {"ledger_id": 1, "entry_id": entry_id, "chunk_id": chunk_id}
    return {**OWN, **at, "role": "used", "checksum_state": "valid", **other}


def stall(**other: Any) -> dict[str, Any]:
    return {
        **OWN, "subscription": "sub", "kind": "orphan_hole", "action": "acknowledge", "code": "C24",
        "unacked_positions": places(0), **other,
    }  # fmt: skip


def dictionaries(rows: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in rows.collect()]


def test_each_position_is_looked_up_again(spark: SparkSession) -> None:
    stalls = frame(spark, "stalls", stall(unacked_positions=places(0, 1, 2, 3, 4, 5)))
    chunks = frame(
        spark, "chunks",
        chunk(0),
        chunk(1, chunk_uuid="other-0"),  # belongs to another message
        chunk(2, checksum_state="mismatch"),
        chunk(3, checksum_state="absent"),  # nothing vouches for it
        chunk(4),
        # 5 is no chunk at all
    )  # fmt: skip
    entries = frame(
        spark, "entries",
        *({**OWN, "ledger_id": 1, "entry_id": n, "num_messages_in_batch": 2 if n == 4 else None} for n in range(6)),
    )  # fmt: skip
    chosen = repair_rows.actionable_stalls(stalls, None, frozenset(), None)
    (row,) = dictionaries(repair_rows.stall_rows(chosen, chunks, entries))
    said = {e["entry_id"]: (e["owner_uuid"], e["is_sound"], e["holds_more"]) for e in row["entries"]}
    assert said == {
        0: ("p-0", True, False),
        1: ("other-0", True, False),
        2: ("p-0", False, False),
        3: ("p-0", False, False),
        4: ("p-0", True, True),
        5: (None, False, False),
    }


def test_an_entry_that_is_not_in_entries_may_hold_anything(spark: SparkSession) -> None:
    chosen = repair_rows.actionable_stalls(frame(spark, "stalls", stall()), None, frozenset(), None)
    rows = repair_rows.stall_rows(chosen, frame(spark, "chunks", chunk(0)), frame(spark, "entries"))
    (row,) = dictionaries(rows)
    assert row["entries"][0]["holds_more"]


def test_which_stalls_are_taken(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    stalls = frame(
        spark, "stalls",
        stall(chunk_uuid="a"),
        stall(chunk_uuid="b", code="C25"),
        stall(chunk_uuid="c", subscription="two"),
        stall(chunk_uuid="d", publish_time_ms=2000),
        stall(chunk_uuid="e", action="none"),
        stall(chunk_uuid="f", kind="compaction_truncation"),
    )  # fmt: skip

    def taken(*choice: Any) -> list[str]:
        return sorted(row["chunk_uuid"] for row in repair_rows.actionable_stalls(stalls, *choice).collect())

    assert taken(None, frozenset(), None) == ["a", "b", "c", "d"]
    assert taken(["sub"], frozenset(), None) == ["a", "b", "d"]
    assert taken(None, frozenset({"C25"}), None) == ["b"]
    assert taken(None, frozenset(), 1999) == ["a", "b", "c"]
    monkeypatch.setattr(repair_rows, "MAX_POSITIONS", 2)  # the first two stalls in order, a position each
    assert taken(None, frozenset(), None) == ["a", "b"]


def nobody_named(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], "topic string, chunk_uuid string")


def test_a_family_comes_whole_or_not_at_all(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    publications = frame(
        spark, "chunked_messages",
        {**OWN, "state": "orphan_prefix"},
        {**OWN, "publish_time_ms": 2000, "state": "in_flight"},  # the same uuid: it decides too
        {**OWN, "chunk_uuid": "q-0", "state": "whole"},
    )  # fmt: skip
    stalls = repair_rows.actionable_stalls(frame(spark, "stalls", stall()), None, frozenset(), None)
    lost = repair_rows.losses(frame(spark, "consumer_outcomes"), ["java"], None)

    def times() -> list[int]:
        return sorted(
            row["publish_time_ms"]
            for row in repair_rows.publication_rows(publications, stalls, lost, nobody_named(spark)).collect()
        )

    assert times() == [1000, 2000]
    monkeypatch.setattr(repair_rows, "MAX_FAMILY", 1)
    assert times() == []


def test_losses_of_the_chosen_models_only(spark: SparkSession) -> None:
    outcomes = frame(
        spark, "consumer_outcomes",
        {**OWN, "model": "java", "outcome": "lost", "reason": "overlap"},
        {**OWN, "model": "go", "outcome": "delivered"},
        {**OWN, "model": "python", "outcome": "breaks_client"},
        {**OWN, "chunk_uuid": "q-0", "model": "java", "outcome": "blocked"},  # by another message
    )  # fmt: skip
    (row,) = dictionaries(repair_rows.losses(outcomes, ["java", "go"], None))
    assert (row["chunk_uuid"], row["losses"]) == (
        "p-0",
        [{"model": "java", "outcome": "lost", "reason": "overlap"}],
    )


def test_an_export_counts_when_it_is_made_of_exactly_these_chunks(spark: SparkSession) -> None:
    publications = spark.createDataFrame(
        [(TOPIC, "p-0", 1000, 2)], "topic string, chunk_uuid string, publish_time_ms bigint, num_chunks int"
    )
    chunks = frame(spark, "chunks", chunk(0, 0), chunk(1, 1), chunk(2, 1), chunk(3, 0, chunk_uuid="q-0"))

    def kept(*entry_ids: int, **other: Any) -> int:
        positions = [{**place, "uri": "u", "offset": 0, "length": 1} for place in places(*entry_ids)]
        row = {
            **OWN,
            "ledger_id": 1,
            "entry_id": 1,
            "batch_index": -1,
            "positions": positions,
            "verified": True,
            **other,
        }
        actions = frame(spark, "repair_actions")
        return repair_rows.export_rows(frame(spark, "messages", row), publications, chunks, actions).count()

    assert kept(0, 1) == 1
    assert kept(0, 2) == 1  # the other copy of chunk 1
    assert kept(0) == 0  # a chunk short
    assert kept(0, 3) == 0  # with another message's chunk
    assert kept(1, 2) == 0  # chunk 1 twice
    assert kept(0, 1, publish_time_ms=2000) == 0  # another publication


COPIED = {"properties": {"pulsar-backlog.original-id": "{at}:0"}, "payload_sha256": "ab"}
NOT_AN_ID = {**COPIED, "properties": {"pulsar-backlog.original-id": "{at}:x"}}
PUBLISHED: list[tuple[str | None, dict[str, Any] | None, str]] = [
    # state of an earlier plan's action, what the log says is a copy, whether the message was published once more
    (None, None, "no"),
    ("planned", None, "no"),
    ("refused", None, "no"),
    ("done", None, "done"),
    ("verified", None, "done"),
    ("already", None, "done"),
    ("begun", None, "unclear"),
    ("failed", None, "unclear"),
    (None, COPIED, "done"),
    ("failed", COPIED, "done"),
    (None, {**COPIED, "payload_sha256": "cd"}, "no"),  # somebody else's property
    (None, NOT_AN_ID, "no"),
]


def test_what_was_published_once_more_is_known(spark: SparkSession) -> None:
    publications, chunks, messages, actions = [], [], [], []
    for at, (state, copy, _) in enumerate(PUBLISHED):
        own = {**OWN, "chunk_uuid": f"p-{at}"}
        place = {"ledger_id": at, "entry_id": 0}
        publications.append((TOPIC, f"p-{at}", 1000, 1))
        chunks.append({**chunk(0), **own, **place})
        positions = [{**place, "uri": "u", "offset": 0, "length": 1}]
        messages.append({**own, **place, "batch_index": -1, "positions": positions, "payload_sha256": "ab"})
        if state:
            actions.append({"kind": "republish", "state": state, "original": place, "payload_sha256": "ab"})
        if copy:
            said = {name: value.format(at=at) for name, value in copy["properties"].items()}
            other = {"cluster": "c", "topic": TOPIC, "ledger_id": at, "entry_id": 9, "batch_index": -1}
            messages.append({**other, **copy, "properties": said})
    known = spark.createDataFrame(
        publications, "topic string, chunk_uuid string, publish_time_ms bigint, num_chunks int"
    )
    rows = repair_rows.export_rows(
        frame(spark, "messages", *messages), known, frame(spark, "chunks", *chunks),
        frame(spark, "repair_actions", *actions),
    ).collect()  # fmt: skip
    found = {row["ledger_id"]: row["republished"] for row in rows}
    assert found == {at: expected for at, (_, _, expected) in enumerate(PUBLISHED)}


SENT = {"ORIGIN_MESSAGE_ID": "1:0:-1;1:4:-1", "REAL_SUBSCRIPTION": "sub", "REAL_TOPIC": TOPIC}
DEAD: dict[str, Any] = {
    "topic": f"{TOPIC}-sub-DLQ", "verified": True, "payload_sha256": "ab", "properties": SENT, "transaction": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({}, 1),
        ({"properties": {**SENT, "ORIGIN_MESSAGE_ID": "1:4:-1"}}, 1),  # of a client that knows one id only
        ({"payload_sha256": "cd"}, 0),
        ({"verified": False}, 0),
        ({"transaction": "open"}, 0),
        ({"transaction": "aborted"}, 0),
        ({"topic": TOPIC}, 0),  # the original itself is no copy
        ({"properties": {**SENT, "ORIGIN_MESSAGE_ID": "1:5:-1"}}, 0),
        ({"properties": {**SENT, "ORIGIN_MESSAGE_ID": "1:4"}}, 0),
        ({"properties": {"REAL_SUBSCRIPTION": "sub"}}, 0),
        ({"properties": None}, 0),
    ],
)
def test_a_dead_letter_counts_when_it_is_verified_and_has_the_same_payload(
    spark: SparkSession, changes: dict[str, Any], count: int
) -> None:
    ddl = (
        "topic string, chunk_uuid string, publish_time_ms bigint, ledger_id bigint, entry_id bigint, "
        "payload_sha256 string, verified boolean"
    )
    originals = spark.createDataFrame([(TOPIC, "p-0", 1000, 1, 4, "ab", True)], ddl)
    copy = {"cluster": "c", "ledger_id": 9, "entry_id": 0, "batch_index": -1, **DEAD, **changes}
    rows = dictionaries(dead_letter_rows(frame(spark, "messages", copy), originals))
    assert [(row["subscription"], row["chunk_uuid"], row["copy"]) for row in rows] == [
        ("sub", "p-0", f"{TOPIC}-sub-DLQ 9:0")
    ] * count


def test_a_reset_counts_the_other_messages_it_brings_again(spark: SparkSession) -> None:
    stalls = frame(
        spark, "stalls", stall(action="reset_to_first_chunk", first_chunk_ledger_id=1, first_chunk_entry_id=2)
    )
    marks = spark.createDataFrame(
        [(TOPIC, "sub", 1, 5)],
        "topic string, subscription string, mark_delete_ledger_id bigint, mark_delete_entry_id bigint",
    )
    entries = frame(
        spark, "entries",
        {**OWN, "ledger_id": 1, "entry_id": 1},  # before the first chunk
        {**OWN, "ledger_id": 1, "entry_id": 2, "uuid": "p-0"},
        {**OWN, "ledger_id": 1, "entry_id": 3},
        {**OWN, "ledger_id": 1, "entry_id": 4, "uuid": "p-0", "publish_time_ms": 2000},  # another publication
        {**OWN, "ledger_id": 1, "entry_id": 5, "marker_type": 10},  # no message
        {**OWN, "ledger_id": 1, "entry_id": 6},  # after mark-delete
    )  # fmt: skip
    chosen = repair_rows.actionable_stalls(stalls, None, frozenset(), None)
    (row,) = dictionaries(repair_rows.redelivered_rows(chosen, marks, entries))
    assert row["entries"] == 2


def _states(spark: SparkSession, entry_id: int, state: str = "whole") -> DataFrame:
    return spark.createDataFrame(
        [(TOPIC, "sub", "subscription", state, 1, entry_id, "certain", "")],
        "topic string, subscription string, kind string, state string, mark_delete_ledger_id bigint, "
        "mark_delete_entry_id bigint, sureness string, reason string",
    )


def _ranges(spark: SparkSession, *runs: tuple[int, int, str]) -> DataFrame:
    who = {"cluster": "c", "topic": TOPIC, "subscription": "sub", "ledger_id": 1}
    rows = ({**who, "first_entry_id": a, "last_entry_id": b, "kind": kind} for a, b, kind in runs)
    return frame(spark, "ack_ranges", *rows)


def test_what_was_acknowledged_then_and_is_not_now(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = frame(
        spark, "entries", *({**OWN, "ledger_id": 1, "entry_id": n, "length": 10} for n in range(10) if n != 6)
    )
    then = {
        "subscriptions": _states(spark, 3),
        "entries": stored,
        # Then 4 waited, a part of batch 7 did, and so did 9.
        "ack_ranges": _ranges(spark, (4, 4, "hole"), (7, 7, "batch_hole"), (9, 9, "tail")),
    }
    # Now everything from 2 on waits; 10 and 11 were stored since, 6 is not stored at all.
    now = {"subscriptions": _states(spark, 1), "ack_ranges": _ranges(spark, (2, 11, "tail"))}
    (row,) = dictionaries(repair_restore.restored_rows(then, now, None))
    assert [(run["first_entry_id"], run["last_entry_id"]) for run in row["runs"]] == [(2, 3), (5, 5), (8, 8)]
    assert (row["bytes"], row["mark_delete_entry_id"], row["batches"], row["left_runs"]) == (40, 3, 1, 0)
    only_batch = {"subscriptions": _states(spark, 1), "ack_ranges": _ranges(spark, (7, 7, "tail"))}
    (row,) = dictionaries(repair_restore.restored_rows(then, only_batch, None))
    assert (row["runs"], row["bytes"], row["batches"]) == ([], 0, 1)
    assert repair_restore.restored_rows(then, now, ["other"]).count() == 0
    monkeypatch.setattr(repair_restore, "MAX_RUNS", 2)
    (row,) = dictionaries(repair_restore.restored_rows(then, now, None))
    assert [(run["first_entry_id"], run["last_entry_id"]) for run in row["runs"]] == [(2, 3), (5, 5)]
    assert (row["left_runs"], row["bytes"]) == (1, 30)  # nothing is dropped without a word
    torn = then | {"subscriptions": _states(spark, 3, "rolled_back")}
    assert repair_restore.restored_rows(torn, now, None).count() == 0


def test_ages_are_counted_from_the_newest_entry(spark: SparkSession) -> None:
    stats = spark.createDataFrame([("1970-01-01 00:00:05",), (None,)], "last_time string")
    assert repair_rows.newest_ms(stats.select(f.col("last_time").cast("timestamp"))) == 5000
    assert repair_rows.newest_ms(stats.filter("false").select(f.col("last_time").cast("timestamp"))) is None
