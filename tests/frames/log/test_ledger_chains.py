"""What entries tell of ledgers whose topic nothing names: each kind of link with what makes it and what nearly does."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.frames.log.chains import findings_of_chains, letters_of, links_of
from tests.frames.rows import entry, fact_frames, ledger, table_frame

NEEDS_SPARK = True

Stored = list[tuple[int, int, dict[str, Any]]]
"""Ledger, entry, and what is not as in a healthy entry."""
SILENT = {"at_ms": None}
"""An entry of a broker that counts nothing."""
CHUNK = SILENT | {"n": 7, "uuid": "u", "num_chunks_from_msg": 3}


def rows(stored: Stored) -> list[dict[str, Any]]:
    return [entry(None, ledger_id, entry_id, **given) for ledger_id, entry_id, given in stored]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stored", "links"),
    [
        # Index and producer go on, over a ledger id that another topic has.
        ([(1, 0, {}), (1, 1, {}), (4, 0, {"n": 2})], [(1, 4, "index", 1, "", 2), (1, 4, "producer", 1, "p", 2)]),
        ([(1, 0, {}), (1, 1, {}), (4, 0, {"n": 3})], []),  # an entry is missing between
        ([(4, 0, {}), (1, 0, {"n": 1})], []),  # an older ledger comes first
        ([(1, 0, SILENT), (2, 0, SILENT | {"n": 1})], [(1, 2, "producer", 1, "p", 1)]),
        ([(1, 0, SILENT), (2, 0, SILENT | {"n": 1, "producer_name": "q"})], []),
        # A batch counts for its messages.
        ([(1, 0, SILENT | {"num_messages_in_batch": 3}), (2, 0, SILENT | {"n": 3})], [(1, 2, "producer", 1, "p", 3)]),
        ([(1, 0, SILENT | {"highest_sequence_id": 4}), (2, 0, SILENT | {"n": 5})], [(1, 2, "producer", 1, "p", 5)]),
        # A chunked message goes on under its own number.
        ([(1, 0, CHUNK | {"chunk_id": 1}), (2, 0, CHUNK | {"chunk_id": 2})], [(1, 2, "producer", 1, "p", 7)]),
        ([(1, 0, CHUNK | {"chunk_id": 2}), (2, 0, SILENT | {"n": 8})], [(1, 2, "producer", 1, "p", 8)]),
        ([(1, 0, CHUNK | {"chunk_id": 2**31 - 1}), (2, 0, SILENT | {"n": 9})], []),  # a number without sense
        # Two partitions that share a producer's name: either could go on.
        ([(1, 0, SILENT), (2, 0, SILENT), (3, 0, SILENT | {"n": 1})], []),
        ([(1, 0, SILENT), (2, 0, SILENT | {"n": 1}), (3, 0, SILENT | {"n": 1})], []),
        ([(1, 0, SILENT | {"checksum_state": "mismatch"}), (2, 0, SILENT | {"n": 1})], []),
        ([(1, 0, SILENT | {"sequence_id": 2**63 - 1}), (2, 0, SILENT | {"sequence_id": -(2**63)})], []),
        ([(1, 0, SILENT | {"producer_name": ""}), (2, 0, SILENT | {"n": 1, "producer_name": ""})], []),
    ],
)  # fmt: skip
def test_links(spark: SparkSession, stored: Stored, links: list[tuple[Any, ...]]) -> None:
    made = rows(stored)
    facts = fact_frames(spark, made)["ledger_facts"]
    found = links_of(facts, table_frame(spark, "entries", made))
    assert sorted(tuple(row) for row in found.collect()) == links


def letter(topic: str, origin: str) -> dict[str, Any]:
    return {"properties": {"REAL_TOPIC": topic, "ORIGIN_MESSAGE_ID": origin, "other": "1"}}


def test_letters(spark: SparkSession) -> None:
    x = "persistent://t/n/x"
    said = [
        letter(x, "5:12:-1"), letter(x, "5:13:-1:2"),  # Java, of a batch too
        letter(x, "6:0:3"), letter(f"{x}-partition-4", "7:0:4"), letter(x, "(8,1,-1,-1)"),
        letter(x, "9:0:-1"), letter("persistent://t/n/y", "9:1:-1"),  # one of them lies
        letter("http://x", "10:0:-1"), letter(x, "99999999999999999999:0:-1"), letter(x, "none"), {"properties": None},
    ]  # fmt: skip
    entries = table_frame(spark, "entries", rows([(1, number, one) for number, one in enumerate(said)]))
    assert {row["ledger_id"]: row["topic"] for row in letters_of(entries).collect()} == {
        5: x, 6: f"{x}-partition-3", 7: f"{x}-partition-4", 8: x,
    }  # fmt: skip


def test_a_finding_is_likely_and_changes_no_topic(spark: SparkSession) -> None:
    made = rows([(1, 0, {}), (4, 0, {"n": 1}), (5, 0, {"n": 900, "producer_name": "q\x1b[2J"})])
    entries, facts = table_frame(spark, "entries", made), fact_frames(spark, made)["ledger_facts"]
    stored = [{**ledger("x", number), "topic": None} for number in (1, 4, 5)]
    (found,) = findings_of_chains(table_frame(spark, "ledgers", stored), facts, entries)
    assert (found.code, found.topic, found.sureness, found.message) == (
        "S35", None, "likely", "Ledgers 1, 4 are likely of one topic.",
    )  # fmt: skip
    assert found.evidence == ("1 to 4: the index goes on at 1", "1 to 4: producer p goes on at sequence id 1")
    stored[0]["topic"] = "persistent://t/n/x"
    (found,) = findings_of_chains(table_frame(spark, "ledgers", stored), facts, entries)
    assert (found.topic, found.message) == (None, "Ledgers 1, 4 are likely of persistent://t/n/x.")
