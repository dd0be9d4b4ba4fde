"""What entries tell of ledgers whose topic nothing names: each kind of link with what makes it and what nearly does."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.findings import Finding
from pulsar_backlog.steps.ledger_chains import findings_of_chains, links_of, topics_in_letters
from tests.engines import ENGINES, asked_of, job_context
from tests.frames.rows import entry, fact_rows, ledger, table_rows

NEEDS_SPARK = True

Stored = list[tuple[int, int, dict[str, Any]]]
"""Ledger, entry, and what is not as in a healthy entry."""
SILENT = {"at_ms": None}
"""An entry of a broker that counts nothing."""
CHUNK = SILENT | {"n": 7, "uuid": "u", "num_chunks_from_msg": 3}


def rows(stored: Stored) -> list[dict[str, Any]]:
    return [entry(None, ledger_id, entry_id, **given) for ledger_id, entry_id, given in stored]  # type: ignore[arg-type]


@pytest.mark.parametrize("engine", ENGINES)
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
def test_links(spark: SparkSession, engine: str, stored: Stored, links: list[tuple[Any, ...]]) -> None:
    made = rows(stored)
    tables = {"ledger_facts": fact_rows(made)["ledger_facts"], "entries": table_rows("entries", made)}
    with asked_of(engine, job_context(spark), tables) as asked:
        assert sorted(map(astuple, links_of(asked))) == links


def letter(topic: str, origin: str) -> dict[str, Any]:
    return {"properties": {"REAL_TOPIC": topic, "ORIGIN_MESSAGE_ID": origin, "other": "1"}}


@pytest.mark.parametrize("engine", ENGINES)
def test_letters(spark: SparkSession, engine: str) -> None:
    x = "persistent://t/n/x"
    said = [
        letter(x, "5:12:-1"), letter(x, "5:13:-1:2"),  # Java, of a batch too
        letter(x, "6:0:3"), letter(f"{x}-partition-4", "7:0:4"), letter(x, "(8,1,-1,-1)"),
        letter(x, "9:0:-1"), letter("persistent://t/n/y", "9:1:-1"),  # one of them lies
        letter("http://x", "10:0:-1"), letter(x, "99999999999999999999:0:-1"), letter(x, "none"), {"properties": None},
    ]  # fmt: skip
    entries = table_rows("entries", rows([(1, number, one) for number, one in enumerate(said)]))
    with asked_of(engine, job_context(spark), {"entries": entries}) as asked:
        assert topics_in_letters(asked) == {5: x, 6: f"{x}-partition-3", 7: f"{x}-partition-4", 8: x}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_finding_is_likely_and_changes_no_topic(spark: SparkSession, engine: str) -> None:
    made = rows([(1, 0, {}), (4, 0, {"n": 1}), (5, 0, {"n": 900, "producer_name": "q\x1b[2J"})])
    tables = {"ledger_facts": fact_rows(made)["ledger_facts"], "entries": table_rows("entries", made)}

    def finding(topic: str | None) -> Finding:
        topics = {1: topic, 4: None, 5: None}
        ledgers = [{**ledger("x", number), "topic": name} for number, name in topics.items()]
        named = {**tables, "ledgers": table_rows("ledgers", ledgers)}
        with asked_of(engine, job_context(spark), named) as asked:
            (found,) = findings_of_chains(asked)
        return found

    found = finding(None)
    assert (found.code, found.topic, found.sureness, found.message) == (
        "S35", None, "likely", "Ledgers 1, 4 are likely of one topic.",
    )  # fmt: skip
    assert found.evidence == ("1 to 4: the index goes on at 1", "1 to 4: producer p goes on at sequence id 1")
    found = finding("persistent://t/n/x")
    assert (found.topic, found.message) == (None, "Ledgers 1, 4 are likely of persistent://t/n/x.")
