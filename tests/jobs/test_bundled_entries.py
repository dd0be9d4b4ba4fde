"""The tables of the bundled backlog against what BookKeeper held and what real clients read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.auditing import EXPECTED, OBJECTS, Audited

NEEDS_SPARK = True

TOPICS = json.loads((EXPECTED / "topics.json").read_text())["topics"]


@pytest.fixture(scope="module")
def entries(bundled: Audited) -> dict[tuple[int, int], dict[str, Any]]:
    """Rows of `entries` by position."""
    return {(row["ledger_id"], row["entry_id"]): row for row in bundled.rows("entries")}


def read_by(client: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """What each reader of a client got, by topic; only from ledgers that are bundled."""
    for topic in TOPICS:
        if name := topic["truth"].get(f"{client}-reader"):
            stored = {ledger["ledger_id"] for ledger in topic["ledgers"]}
            for line in (EXPECTED / name).read_text().splitlines():
                message = json.loads(line)
                if (message["id"]["l"] if client == "java" else message["l"]) in stored:
                    yield topic["topic"], message


def test_the_entries_are_those_that_bookkeeper_held(entries: dict[tuple[int, int], dict[str, Any]]) -> None:
    objects = {path.name: path.read_bytes() for path in OBJECTS.iterdir()}
    found = {
        position: (
            row["length"],
            hashlib.sha256(objects[row["uri"]][row["offset"] : row["offset"] + row["length"]]).hexdigest(),
        )
        for position, row in entries.items()
    }
    held = {}
    for path in (EXPECTED / "entries").glob("*.json"):
        ledger = json.loads(path.read_text())
        held |= {(ledger["ledger_id"], e["entry_id"]): (e["bytes"], e["sha256"]) for e in ledger["entries"]}
    assert found == held
    assert len(held) == 812


def test_each_entry_has_the_topic_of_its_ledger(entries: dict[tuple[int, int], dict[str, Any]]) -> None:
    topics = {ledger["ledger_id"]: topic["topic"] for topic in TOPICS for ledger in topic["ledgers"]}
    assert {(row["ledger_id"], row["topic"]) for row in entries.values()} == set(topics.items())


def test_metadata_is_what_java_saw(entries: dict[tuple[int, int], dict[str, Any]]) -> None:
    compared = 0
    for _, message in read_by("java"):
        place = message["id"]
        row = entries[place["l"], place["e"]]
        batched = place["b"] >= 0
        assert (row["num_messages_in_batch"] or 0) == place["bs"]
        assert row["producer_name"] == message["producer"]
        assert row["publish_time_ms"] == message["pt"]
        assert row["publish_time"] == datetime.fromtimestamp(message["pt"] / 1000, UTC)
        assert row["broker_timestamp"] == datetime.fromtimestamp(message["bpt"] / 1000, UTC)
        assert row["index"] == message["index"] + (place["bs"] - 1 - place["b"] if batched else 0)
        compared += 1
        if batched:
            continue  # properties and key are in the batch
        assert (row["properties"] or {}) == message["props"]
        assert row["partition_key"] == message.get("key")
        assert row["sequence_id"] == message["seq"]
        assert (row["event_time"].timestamp() * 1000 if row["event_time"] else 0) == message["et"]
        assert [key["key"] for key in row["encryption_keys"] or ()] == message.get("enc", {}).get("keys", [])
    assert compared > 250


@pytest.mark.parametrize("client", ["py", "go"])
def test_metadata_is_what_the_other_clients_saw(client: str, entries: dict[tuple[int, int], dict[str, Any]]) -> None:
    compared = 0
    for _, message in read_by(client):
        row = entries[message["l"], message["e"]]
        assert row["publish_time_ms"] == message["pt"]
        if row["num_messages_in_batch"] is None:
            assert (row["properties"] or {}) == message["props"]
            assert (row["partition_key"] or "") == message["key"]
        compared += 1
    assert compared > 250


def test_a_plain_payload_is_the_very_bytes_that_java_delivered(entries: dict[tuple[int, int], dict[str, Any]]) -> None:
    compared = 0
    for _, message in read_by("java"):
        place = message["id"]
        row = entries[place["l"], place["e"]]
        is_plain = row["compression"] in (None, "NONE") and row["uuid"] is None and row["encryption_keys"] is None
        if place["b"] >= 0 or not is_plain:
            continue
        start = row["offset"] + row["payload_offset"]
        payload = (OBJECTS / row["uri"]).read_bytes()[start : start + row["payload_length"]]
        assert (len(payload), hashlib.sha256(payload).hexdigest()) == (
            message["size"],
            message["sha256"] or hashlib.sha256().hexdigest(),
        )
        compared += 1
    assert compared > 80


def test_broken_sets_are_stored_as_they_were_sent(entries: dict[tuple[int, int], dict[str, Any]]) -> None:
    sent = [json.loads(line) for line in (EXPECTED / "sent" / "sent-broken.jsonl").read_text().splitlines()]
    compared = 0
    for chunk in sent:
        row = entries.get(tuple(chunk.get("pos") or ()))
        if row is None or "seq" not in chunk:  # not bundled, or a marker
            continue
        assert (row["topic"], row["sequence_id"], row["payload_length"]) == (
            chunk["topic"],
            chunk["seq"],
            chunk["psize"],
        )
        assert row["uuid"] == chunk.get("uuid")
        assert (row["chunk_id"], row["num_chunks_from_msg"]) == (chunk.get("chunk"), chunk.get("n"))
        compared += 1
    assert compared > 250


def test_checksums(entries: dict[tuple[int, int], dict[str, Any]]) -> None:
    assert {at: row["checksum_state"] for at, row in entries.items() if row["checksum_state"] != "valid"} == {
        (79, 0): "absent"
    }
    assert all((row["checksum"] is None) == (row["checksum_state"] == "absent") for row in entries.values())


def test_nothing_was_rejected_and_the_books_add_up(bundled: Audited) -> None:
    assert bundled.rows("rejects") == []
    books = bundled.rows("scans")
    assert len(books) == len(list((EXPECTED / "entries").glob("*.json"))) == 51
    for row in books:
        assert row["complete"]
        assert row["frames"] == row["decoded"] == row["expected_entries"]
        assert row["entry_bytes"] == row["expected_bytes"]
        assert row["rejected"] == row["structure_faults"] == row["order_faults"] == row["unreadable_units"] == 0


def test_data_paths_are_relative_to_the_source(bundled: Audited) -> None:
    assert {Path(row["uri"]).name for row in bundled.rows("entries", "uri")} == {
        path.name for path in OBJECTS.iterdir() if not path.name.endswith("-index")
    }
