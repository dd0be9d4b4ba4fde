"""Encrypted messages as they lie in the log, and whether they may be published like that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulsar_backlog.frames.repair.stored_messages import named_rows, stored_rows
from tests.frames.repair.test_repair_rows import OWN, TOPIC, chunk, dictionaries, frame

NEEDS_SPARK = True

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEY = {"key": "k", "value": b"wrapped", "metadata": {}}


def sealed(entry_id: int, **other: Any) -> dict[str, Any]:
    """A stored encrypted entry that is sound."""
    usual = {
        **OWN, "ledger_id": 1, "entry_id": entry_id, "uri": "u", "offset": 100 * entry_id, "length": 90,
        "payload_length": 40, "checksum": 7, "checksum_state": "valid", "encryption_keys": [KEY],
        "encryption_param": bytes([entry_id] * 12),
    }  # fmt: skip
    return {**usual, **other}


def verdict(*entry_ids: int, **other: Any) -> dict[str, Any]:
    """A whole encrypted message of these entries, the first of them chunk 0."""
    manifest = [
        {"chunk_id": number, "ledger_id": 1, "entry_id": entry_id, "uri": "u", "offset": 0, "length": 90}
        for number, entry_id in enumerate(entry_ids)
    ]
    return {**OWN, "state": "whole", "encrypted": True, "rebuildable": True, "manifest": manifest, **other}


def names(spark: SparkSession, *entry_ids: int) -> DataFrame:
    return spark.createDataFrame([(1, entry_id) for entry_id in entry_ids], "ledger_id bigint, entry_id bigint")


def test_what_lies_at_a_named_position(spark: SparkSession) -> None:
    entries = frame(
        spark, "entries",
        sealed(0), sealed(1), sealed(2, encryption_keys=None), sealed(3, marker_type=20),
    )  # fmt: skip
    rows = dictionaries(named_rows(names(spark, 0, 1, 2, 3, 9), entries, frame(spark, "chunks", chunk(1))))
    assert [(row["entry_id"], row["topic"], row["chunk_uuid"], row["encrypted"]) for row in rows] == [
        (0, TOPIC, None, True),
        (1, TOPIC, "p-0", True),
        (2, TOPIC, None, False),
        (3, None, None, None),  # a marker is no message
        (9, None, None, None),
    ]


def test_a_message_is_its_entries_in_order(spark: SparkSession) -> None:
    verdicts = frame(
        spark, "chunked_messages",
        verdict(2, 0, 1),  # chunk 0 was stored last
        verdict(3, chunk_uuid="q-0", encrypted=False),
        verdict(4, chunk_uuid="r-0", rebuildable=False),
        verdict(5, chunk_uuid="not-asked-for"),
        verdict(6, 99, chunk_uuid="s-0"),  # an entry that the tables do not have
    )  # fmt: skip
    asked = verdicts.filter("chunk_uuid != 'not-asked-for'")
    entries = frame(spark, "entries", *map(sealed, range(7)), sealed(7, num_messages_in_batch=3, schema_version=b"1"))
    named = named_rows(names(spark, 7), entries, frame(spark, "chunks"))
    rows = dictionaries(stored_rows(asked, verdicts, named, entries, frame(spark, "repair_actions")))
    chunked, single = sorted(rows, key=lambda row: row["last_entry_id"])
    assert [(part["entry_id"], part["offset"]) for part in chunked["parts"]] == [(2, 200), (0, 0), (1, 100)]
    assert (chunked["last_entry_id"], chunked["bytes"], chunked["chunk_uuid"]) == (1, 120, "p-0")
    assert (chunked["batch_size"], chunked["has_schema"], chunked["transaction"]) == (None, False, None)
    assert (single["last_entry_id"], single["batch_size"], single["chunk_uuid"]) == (7, 3, None)
    assert single["has_schema"]


FINE = {"keys": 1, "transaction": None}


def test_each_doubt(spark: SparkSession) -> None:
    twice = [KEY, {**KEY, "key": "other"}, KEY]
    cases: list[tuple[dict[str, Any], list[str], dict[str, Any]]] = [
        ({"encryption_keys": twice}, [], {"keys": 2, "transaction": None}),  # of a name that is there twice one counts
        ({"checksum_state": "mismatch"}, [], {"sound": False, **FINE}),
        ({"checksum_state": "absent"}, [], {"sound": False, **FINE}),
        ({"inner_offset": 0}, [], FINE),  # where a store compresses, it is read as well
        ({"encryption_keys": None}, [], {"encrypted": False, **FINE}),
        ({"flags": ["unknown_fields"]}, [], {"known": False, **FINE}),
        ({"flags": ["text_not_utf8"]}, [], FINE),
        ({"properties": {"pulsar-backlog.plan": "p"}}, [], {"first": False, **FINE}),
        ({"properties": {"a": "b"}}, ["ledger_span"], FINE),
        ({}, ["copies_differ"], {"agreed": False, **FINE}),
        ({}, ["metadata_conflict"], {"agreed": False, **FINE}),
        ({"txnid_most_bits": 1, "txnid_least_bits": 2}, [], {"keys": 1, "transaction": "open"}),
    ]
    verdicts = frame(
        spark, "chunked_messages",
        *(verdict(2 * n, 2 * n + 1, chunk_uuid=f"p-{n}", flags=flags) for n, (_, flags, _) in enumerate(cases)),
    )  # fmt: skip
    odd = [sealed(2 * n + 1, **second) for n, (second, _, _) in enumerate(cases)]
    entries = frame(spark, "entries", *(sealed(2 * n) for n in range(len(cases))), *odd)
    nobody = named_rows(names(spark, 99).limit(0), entries, frame(spark, "chunks"))
    rows = dictionaries(stored_rows(verdicts, verdicts, nobody, entries, frame(spark, "repair_actions")))
    for row in rows:
        said = {name: row[name] for name in ("sound", "encrypted", "known", "agreed", "first") if not row[name]}
        second, flags, wanted = cases[int(row["chunk_uuid"].removeprefix("p-"))]
        assert said | {"keys": row["keys"], "transaction": row["transaction"]} == wanted, (second, flags)
    assert len(rows) == len(cases)


def test_what_was_published_once_more_is_known(spark: SparkSession) -> None:
    same: dict[str, Any] = {}
    cases: list[tuple[str | None, dict[str, Any] | None, str]] = [
        (None, None, "no"),
        ("planned", None, "no"),
        ("refused", None, "no"),
        ("done", None, "done"),
        ("verified", None, "done"),
        ("begun", None, "unclear"),
        ("failed", None, "unclear"),
        (None, same, "done"),
        ("failed", same, "done"),
        # Somebody else's property: another vector, another key, another length, another original.
        (None, {"encryption_param": bytes(12)}, "no"),
        (None, {"encryption_keys": [{**KEY, "value": b"another"}]}, "no"),
        (None, {"payload_length": 41}, "no"),
        (None, {"properties": {"pulsar-backlog.original-id": "1:9999"}}, "no"),
        ("done", {"encryption_param": bytes(12)}, "done"),
    ]
    verdicts = frame(
        spark, "chunked_messages", *(verdict(2 * n, 2 * n + 1, chunk_uuid=f"p-{n}") for n in range(len(cases)))
    )
    originals = [sealed(n) for n in range(2 * len(cases))]
    copies = [
        {**sealed(100 + n), "encryption_param": originals[2 * n + 1]["encryption_param"],
         "properties": {"pulsar-backlog.original-id": f"1:{2 * n + 1}"}, **copy}
        for n, (_, copy, _) in enumerate(cases) if copy is not None
    ]  # fmt: skip
    plans = [
        {"kind": "republish", "state": state, "original": {"ledger_id": 1, "entry_id": 2 * n + 1}}
        for n, (state, _, _) in enumerate(cases)
        if state is not None
    ]
    entries, actions = frame(spark, "entries", *originals, *copies), frame(spark, "repair_actions", *plans)
    nobody = named_rows(names(spark, 99).limit(0), entries, frame(spark, "chunks"))
    rows = dictionaries(stored_rows(verdicts, verdicts, nobody, entries, actions))
    said = {int(row["chunk_uuid"].removeprefix("p-")): row["republished"] for row in rows}
    assert said == {n: wanted for n, (_, _, wanted) in enumerate(cases)}
