"""The damaged entries of a topic: found where they are, named, bounded, and nothing read where there are none."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.chunks.rows import Damage, Damaged, LogEdge
from pulsar_backlog.findings import MAX_EVIDENCE
from pulsar_backlog.sql.engines import QueryEngine
from pulsar_backlog.steps import damage as chunk_damage
from pulsar_backlog.steps.damage import damage_of_topics
from pulsar_backlog.steps.log_edges import edge_rows, log_edges
from tests.engines import ENGINES, asked_of, job_context
from tests.frames.rows import NOON_MS, entry, fact_rows, ledger, table_rows

NEEDS_SPARK = True

MISMATCH, ABSENT = {"checksum_state": "mismatch"}, {"checksum_state": "absent"}


def chunk(ledger_id: int, entry_id: int, n: int, **given: Any) -> dict[str, Any]:
    """A chunk of the message with sequence id n of producer p."""
    return entry("t", ledger_id, entry_id, n=n, uuid=f"p-{n}", chunk_id=0, payload_crc32c=n, **given)


def reject(ledger_id: int, entry_id: int, scope: str = "entry") -> dict[str, Any]:
    return {"cluster": "c", "topic": "t", "ledger_id": ledger_id, "entry_id": entry_id, "scope": scope,
            "first_bytes": b""}  # fmt: skip


def asked_about(
    rows: list[dict[str, Any]], rejects: list[dict[str, Any]] | None = None, engine: str = "duckdb",
    spark: SparkSession | None = None, **tables: pa.Table,
) -> AbstractContextManager[QueryEngine]:  # fmt: skip
    """Who answers about what a scan makes of these entries, and about tables."""
    given = {**fact_rows(rows), "rejects": table_rows("rejects", rejects or []), **tables}
    return asked_of(engine, job_context(spark), given)


def edge_of(
    rows: list[dict[str, Any]], rejects: list[dict[str, Any]] | None = None, engine: str = "duckdb",
    spark: SparkSession | None = None,
) -> LogEdge:  # fmt: skip
    """The edge of topic t, by the books that a scan would keep of these entries."""
    lost = [one for one in rejects or () if one["scope"] == "entry"]
    books = []
    for ledger_id in sorted({row["ledger_id"] for row in [*rows, *lost] if row["topic"] == "t"}):
        own = [row["checksum_state"] for row in rows if row["ledger_id"] == ledger_id]
        rejected = sum(one["ledger_id"] == ledger_id for one in lost)
        books.append({
            "cluster": "c", "topic": "t", "ledger_id": ledger_id, "copy": "u", "frames": len(own) + rejected,
            "complete": True, "rejected": rejected,
            **{f"checksum_{state}": own.count(state) for state in ("valid", "mismatch", "absent")},
        })  # fmt: skip
    ledgers = table_rows("ledgers", [ledger("t", one["ledger_id"]) for one in books])
    given = {"scans": table_rows("scans", books), "ledgers": ledgers, "gone_ledgers": table_rows("gone_ledgers", [])}
    with asked_about(rows, rejects, engine, spark, **given) as asked:
        return log_edges(edge_rows(asked), asked, None, 1000)["t"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_damaged_entry_is_listed_with_what_it_claims(spark: SparkSession, engine: str) -> None:
    rows = [chunk(5, 0, 0), chunk(5, 1, 1), chunk(5, 2, 2, at_ms=99_000_000, **MISMATCH), chunk(5, 3, 3)]
    damage = edge_of(rows, [], engine, spark).damage
    assert damage == Damage((Damaged(5, 2, "mismatch", None, None, "p-2", "p", 2, 40, 2, garbled=False),), ledgers=(5,))


def test_when_it_was_stored_is_known_by_the_ledgers_beside_its_own() -> None:
    rows = [
        chunk(3, 0, 0), chunk(5, 0, 1), chunk(5, 1, 2), chunk(7, 0, 3, **MISMATCH), chunk(7, 1, 4), chunk(9, 0, 5),
        chunk(9, 1, 6), chunk(11, 0, 7, **MISMATCH),
    ]  # fmt: skip
    damage = edge_of(rows).damage
    assert [(one.ledger_id, one.after_ms, one.before_ms) for one in damage.places] == [
        (7, NOON_MS + 1000, NOON_MS + 6000), (11, NOON_MS + 5000, None),
    ]  # fmt: skip
    assert damage.ledgers == (3, 5, 7, 9, 11)


def test_what_could_not_be_decoded_is_listed_and_what_is_no_entry_is_not() -> None:
    damage = edge_of([chunk(5, 0, 0), chunk(5, 2, 2)], [reject(5, 1), reject(5, -1, "structure")]).damage
    (one,) = damage.places
    assert (one.ledger_id, one.entry_id, one.kind) == (5, 1, "reject")
    assert (one.chunk_uuid, one.producer_name, one.payload_length) == (None, None, None)


@pytest.mark.parametrize(
    ("claims", "garbled"),
    [
        pytest.param({}, False, id="its producer wrote other entries here"),
        pytest.param({"producer_name": "q"}, False, id="producer damaged, uuid and sequence id agree"),
        pytest.param({"uuid": "q-2"}, False, id="uuid damaged, the producer is known"),
        pytest.param({"producer_name": "q", "uuid": None}, True, id="nothing that it names is known"),
        pytest.param({"producer_name": "q", "uuid": "q-77"}, True, id="nothing agrees"),
    ],
)
def test_an_entry_that_names_nobody_is_garbled(claims: dict[str, Any], garbled: bool) -> None:
    rows = [chunk(5, 0, 0), chunk(5, 1, 1), {**chunk(5, 2, 2), **MISMATCH, **claims}, chunk(5, 3, 3)]
    (one,) = edge_of(rows).damage.places
    assert one.garbled is garbled


def test_plain_entries_and_markers_may_be_chunks_whose_marks_are_damaged() -> None:
    rows = [
        chunk(5, 0, 0), entry("t", 5, 1, **MISMATCH), entry("t", 5, 2, marker_type=20, **MISMATCH),
        entry("t", 5, 3, num_messages_in_batch=7, **MISMATCH),
    ]  # fmt: skip
    assert [one.entry_id for one in edge_of(rows).damage.places] == [1, 2, 3]


def test_entries_without_checksum_are_listed_while_they_are_few() -> None:
    few = edge_of([chunk(5, 0, 0), chunk(5, 1, 1, **ABSENT), entry("t", 5, 2, **ABSENT)]).damage
    found = [(one.kind, one.entry_id, one.chunk_uuid) for one in few.places]
    assert found == [("absent", 1, "p-1"), ("absent", 2, None)]
    many = [chunk(5, n, n, **ABSENT) for n in range(MAX_EVIDENCE + 1)]
    damage = edge_of([*many, chunk(5, 99, 99, **MISMATCH), chunk(7, 0, 0, **MISMATCH), chunk(9, 0, 0)]).damage
    assert [(one.kind, one.ledger_id) for one in damage.places] == [("mismatch", 5), ("mismatch", 7)]
    assert (damage.unlisted, damage.unverified) == (0, (5,))


def test_more_than_can_be_listed_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_damage, "MAX_PLACES", 3)
    rows = [*(chunk(5, n, n, **MISMATCH) for n in range(4)), *(chunk(7, n, 4 + n, **MISMATCH) for n in range(2))]
    damage = edge_of([*rows, chunk(9, 0, 9, **ABSENT)], [reject(7, 2)]).damage
    assert [(one.ledger_id, one.entry_id) for one in damage.places] == [(7, 0), (7, 1), (7, 2)]
    assert (damage.unlisted, damage.unverified) == (4, (9,))


def test_of_all_topics_only_so_much_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_damage, "MAX_LISTED", 1)
    books = [
        {"topic": topic, "scanned": [at], "hurt": [{"ledger_id": at, "damaged": 1, "unverified": 0}]}
        for at, topic in enumerate("ab")
    ]
    rows = [entry(topic, at, 0, **MISMATCH) for at, topic in enumerate("ab")]
    with asked_about(rows) as asked:
        found = damage_of_topics(books, asked)
    assert {topic: (len(one.places), one.unlisted) for topic, one in found.items()} == {"a": (1, 0), "b": (0, 1)}


def test_where_nothing_is_damaged_nothing_is_read() -> None:
    books = [{"topic": "t", "scanned": [5], "hurt": []}]
    with asked_of("duckdb", job_context(), {}) as asked:
        assert damage_of_topics(books, asked) == {}
    assert edge_of([chunk(5, 0, 0)]).damage == Damage()


# What else the edges of a log do not take from a damaged entry.


def test_a_damaged_entry_says_nothing_of_times_producers_or_the_beginning() -> None:
    late = chunk(5, 2, 2, at_ms=99_000_000, sent_ms=99_000_000, **MISMATCH)
    early = chunk(5, 0, 0, at_ms=-99_000_000, num_messages_in_batch=1, **MISMATCH)
    edge = edge_of([early, chunk(5, 1, 1), late])
    assert (edge.begin_time_ms, edge.end_time_ms) == (NOON_MS + 1000, NOON_MS + 1000)
    assert not edge.begins_at_start  # its index is 0, but it is damaged
    assert edge_of([chunk(5, 0, 0), chunk(5, 1, 1)]).begins_at_start
    with asked_about([early, chunk(5, 1, 1), late]) as asked:
        (facts,) = asked.rows({"producers": asked.sql("log", "producers", {})})["producers"]
    assert (facts["last_sent"]["entry_id"], facts["last_message"]["entry_id"]) == (1, 2)
