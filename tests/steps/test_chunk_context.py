"""Codes that need more of the log than one publication: each with what fires it and what nearly does."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.findings import CATALOGUE
from pulsar_backlog.steps.chunk_findings import TopicFacts, findings_of_chunks
from pulsar_backlog.steps.chunk_rows import name_chunk_entries
from pulsar_backlog.steps.finding_rows import noticed_findings
from pulsar_backlog.wire.markers import TXN_ABORT, TXN_COMMIT
from tests.engines import ENGINES, asked_of, job_context, listed
from tests.frames.rows import NOON_MS, entry, fact_rows, table_rows

NEEDS_SPARK = True

Case = tuple[list[dict[str, Any]], list[dict[str, Any]]]
"""Publications, and entries, of one topic."""


def sent(sequence_id: int, first: int, last: int, state: str = "whole", **given: Any) -> dict[str, Any]:
    """A publication of three chunks in ledger 1."""
    present = 3 if state == "whole" else last - first + 1
    return {
        "chunk_uuid": f"p-{sequence_id}", "publish_time_ms": NOON_MS, "producer_name": "p", "sequence_id": sequence_id,
        "state": state, "sureness": "certain", "reason": "seen", "first_ledger_id": 1, "first_entry_id": first,
        "last_ledger_id": 1, "last_entry_id": last, "num_chunks": 3, "present_chunks": present, "copies": present,
        "total_bytes": 100 * sequence_id, "rebuildable": state == "whole", **given,
    }  # fmt: skip


def stored(entry_id: int, sequence_id: int, **given: Any) -> dict[str, Any]:
    """An entry of ledger 1, by the same producer."""
    return {"ledger_id": 1, "entry_id": entry_id, "sequence_id": sequence_id, **given}


def in_transaction(entry_id: int, txn: int = 1, **given: Any) -> dict[str, Any]:
    """A chunk of message 1 in a transaction."""
    chunk = {"uuid": "p-1", "chunk_id": entry_id, "num_chunks_from_msg": 2, "publish_time_ms": NOON_MS}
    return stored(entry_id, 1, txnid_most_bits=0, txnid_least_bits=txn, **chunk, **given)


def marker(entry_id: int, kind: int, txn: int = 1) -> dict[str, Any]:
    """The end of a transaction."""
    return stored(entry_id, -1, marker_type=kind, txnid_most_bits=0, txnid_least_bits=txn, producer_name="broker")


def slices(payload: int, length: int, header: int = 100, **given: Any) -> dict[str, Any]:
    """A chunk that is not its message's last."""
    chunk = {"uuid": "p-1", "chunk_id": 0, "num_chunks_from_msg": 2}
    return stored(0, 1, **chunk, payload_length=payload, length=length, payload_offset=header, **given)


LOST = sent(1, 0, 1, "orphan_prefix")
WENT_ON = [stored(1, 1), stored(2, 2)]
RESIDUE = sent(7, 90, 99, flags=["prefix_residue"])
TWO = {"num_chunks": 2, "copies": 2, "present_chunks": 2}
LIMIT = 65536
CONTEXT = ("C16", "C18", "C27", "C30", "C31", "C38")

# A topic whose name does not begin with a code must raise none; on those that end in "*" the broker drops duplicates.
CASES: dict[str, Case] = {
    "C16 last chunk dropped *": ([LOST], WENT_ON),
    "C16 all but the first dropped *": ([sent(1, 0, 0, "orphan_prefix", num_chunks=9)], WENT_ON),
    "C16 a residue shows deduplication": ([LOST, RESIDUE], [*WENT_ON, stored(99, 7)]),
    "nothing says that duplicates are dropped": ([LOST], WENT_ON),
    "the producer stopped *": ([LOST], [stored(1, 1), stored(2, 0)]),
    "cut in the middle *": ([sent(1, 0, 3, "orphan_prefix", num_chunks=9)], WENT_ON),
    "sent again under the same number *": ([LOST | {"flags": ["uuid_reused"]}], WENT_ON),
    "left of a resend *": ([LOST | {"flags": ["resend_residue"]}], WENT_ON),
    "C16 perhaps a retry *": ([LOST, sent(2, 2, 5, total_bytes=100)], [*WENT_ON, stored(9, 3)]),
    "C18 interleaved": ([sent(2, 1, 4), sent(1, 0, 5)], [stored(9, 9)]),
    "C18 swapped": ([sent(2, 0, 2), sent(1, 3, 5), sent(3, 6, 8)], [stored(9, 9)]),
    "in order": ([sent(1, 0, 4), sent(2, 1, 5)], [stored(9, 9)]),
    "begun again after a restart": ([sent(8, 0, 2), sent(1, 3, 5), sent(2, 6, 8)], [stored(9, 9)]),
    "begun again after a restart, and past the old number": (
        [sent(5, 0, 2), *(sent(n, at, at + 2, publish_time_ms=NOON_MS + 1) for n, at in ((2, 3), (9, 6)))],
        [stored(9, 9)],
    ),
    "two producers": ([sent(2, 1, 4), sent(1, 0, 5, producer_name="q")], [stored(9, 9)]),
    "C27 orphan at the end": ([sent(1, 0, 1, "orphan_prefix")], [stored(1, 1), marker(2, TXN_COMMIT)]),
    "C27 headless at the end": ([sent(1, 0, 1, "headless")], [stored(1, 1)]),
    "a message after it": ([sent(1, 0, 1, "headless")], [stored(1, 1), stored(2, 2, producer_name="q")]),
    "whole at the end": ([sent(1, 0, 1)], [stored(1, 1)]),
    "arriving at the end": ([sent(1, 0, 1, "in_flight")], [stored(1, 1)]),
    "C30 aborted": ([sent(1, 0, 1, **TWO)], [in_transaction(0), in_transaction(1), marker(2, TXN_ABORT)]),
    "C30 open": ([sent(1, 0, 1, **TWO)], [in_transaction(0), in_transaction(1), marker(2, TXN_COMMIT, txn=2)]),
    "C30 two transactions": (
        [sent(1, 0, 1, **TWO)],
        [in_transaction(0), in_transaction(1, txn=2), marker(2, TXN_COMMIT), marker(3, TXN_COMMIT, txn=2)],
    ),
    "C30 half in one": ([sent(1, 0, 1, **TWO)], [in_transaction(0), stored(1, 1), marker(2, TXN_COMMIT)]),
    "committed": ([sent(1, 0, 1, **TWO)], [in_transaction(0), in_transaction(1), marker(2, TXN_COMMIT)]),
    "C30 committed by a damaged marker": (
        [sent(1, 0, 1, **TWO)],
        [in_transaction(0), in_transaction(1), marker(2, TXN_COMMIT) | {"checksum_state": "mismatch"}],
    ),
    # Segments hold no markers, whatever became of the transaction.
    "segment://C38 nothing tells": ([sent(1, 0, 1, **TWO)], [in_transaction(0), in_transaction(1)]),
    "segment://C38 behind the watermark": ([sent(1, 0, 1, **TWO)], [in_transaction(0), in_transaction(1)]),
    "segment://C38 in a ledger that was trimmed": ([sent(1, 0, 1, **TWO)], [in_transaction(0), in_transaction(1)]),
    "segment://committed": ([sent(1, 0, 1, **TWO)], [in_transaction(0), in_transaction(1)]),
    "segment://C30 aborted": ([sent(1, 0, 1, **TWO)], [in_transaction(0), in_transaction(1)]),
    "segment://C30 open": ([sent(1, 0, 1, **TWO)], [in_transaction(0, txn=8), in_transaction(1, txn=8)]),
    "segment://C30 half in one": ([sent(1, 0, 1, **TWO)], [in_transaction(0), stored(1, 1)]),
    "C31 payload fills the limit": ([], [slices(LIMIT, LIMIT + 100), stored(1, 2)]),
    "payload and header fill the limit": ([], [slices(LIMIT - 54, LIMIT + 51), stored(1, 2)]),
    "a limit of the application's own": ([], [slices(20_000, 20_100), stored(1, 2)]),
    "round by chance": ([], [slices(LIMIT, LIMIT + 100), stored(1, 2, length=2 * LIMIT)]),
    "C31 heavy header": ([], [slices(1000, 11_241, header=10_241), stored(1, 2)]),
    "header of 10 KB": ([], [slices(1000, 11_240, header=10_240), stored(1, 2)]),
}  # fmt: skip


# What a metadata store says of the segments among them.
STORE: list[dict[str, Any]] = [
    {"cluster": "c", "topic": topic, "txnid_most_bits": 0, "txnid_least_bits": low, "state": state}
    for topic, low, state in (("segment://C30 aborted", 1, "aborted"), ("", 8, "open"))
]
SEGMENTS: list[dict[str, Any]] = [
    {"cluster": "c", "topic": "topic://t", "segment": segment, "segment_id": 0, "first_hash": 0, "last_hash": 1,
     "status": "active", "is_legacy": False, "ledgers": 1, "entries": 2, "bytes": 1, "subscriptions": [],
     "first_ledger_id": first, "watermark_ledger_id": 1, "watermark_entry_id": entry_id}
    for segment, first, entry_id in (
        ("segment://committed", 1, 1), ("segment://C30 aborted", 1, 1), ("segment://C30 open", 1, 1),
        ("segment://C38 behind the watermark", 1, 0), ("segment://C38 in a ledger that was trimmed", 2, 1),
    )
]  # fmt: skip


@pytest.fixture(scope="module", params=ENGINES)
def found(request: pytest.FixtureRequest, spark: SparkSession) -> dict[str, dict[str, dict[str, Any]]]:
    """Topic -> code -> finding, of all cases at once."""
    messages = [{"topic": topic, **row} for topic, (rows, _) in CASES.items() for row in rows]
    entries = [entry(topic, **row) for topic, (_, rows) in CASES.items() for row in rows]
    known = TopicFacts([topic for topic in CASES if topic.endswith("*")], ["C27 orphan at the end"])
    tables = fact_rows(entries) | {"chunked_messages": table_rows("chunked_messages", messages)}
    tables |= {"transactions": table_rows("transactions", STORE), "segments": table_rows("segments", SEGMENTS)}
    context = job_context(spark)
    by_topic: dict[str, dict[str, dict[str, Any]]] = {}
    with asked_of(request.param, context, tables) as asked:
        asked.materialize("producers", asked.sql("log", "producers", {}))
        name_chunk_entries(asked)
        for row in listed(noticed_findings(context, asked, findings_of_chunks(asked, known))):
            if row["code"] in CONTEXT:
                by_topic.setdefault(row["topic"], {})[row["code"]] = row
    return by_topic


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("saved_bytes", "expected"),
    [
        (LIMIT, {"C31 payload fills the limit": "certain", "round by chance": "certain"}),
        (20_000, dict.fromkeys(("C31 payload fills the limit", "payload and header fill the limit",
                                "a limit of the application's own", "round by chance"), "certain")),
        (5 * 1024 * 1024, {}),  # round, and smaller than what the brokers allow
        (-1, {"C31 payload fills the limit": "likely"}),
    ],
)  # fmt: skip
def test_a_saved_limit_is_believed(
    engine: str, saved_bytes: int, expected: dict[str, str], spark: SparkSession
) -> None:
    names = ("C31 payload fills the limit", "payload and header fill the limit", "a limit of the application's own",
             "round by chance")  # fmt: skip
    tables = fact_rows([entry(topic, **row) for topic in names for row in CASES[topic][1]])
    tables |= {name: table_rows(name, []) for name in ("chunked_messages", "transactions", "segments")}
    context = job_context(spark)
    with asked_of(engine, context, tables) as asked:
        asked.materialize("producers", asked.sql("log", "producers", {}))
        name_chunk_entries(asked)
        found = listed(noticed_findings(context, asked, findings_of_chunks(asked, TopicFacts(), saved_bytes)))
    assert {row["topic"]: row["sureness"] for row in found if row["code"] == "C31"} == expected
    words = {row["reason"] for row in found if row["code"] == "C31"}
    assert all(("saved settings" in one) == (saved_bytes > 0) for one in words)


@pytest.mark.parametrize("topic", CASES)
def test_each_code_fires_where_it_should_and_nowhere_else(found: dict[str, Any], topic: str) -> None:
    code = topic.removeprefix("segment://").split(maxsplit=1)[0]
    # What C16 looks at may end its little topic as well; C27 is asked for on topics of its own.
    codes = {c for c in found.get(topic, {}) if c != "C27" or code != "C16"}
    assert codes == ({code} if code in CATALOGUE else set())


@pytest.mark.parametrize(
    ("topic", "code", "sureness", "place"),
    [
        ("C16 last chunk dropped *", "C16", "likely", (1, 0)),
        ("C16 perhaps a retry *", "C16", "cannot_tell", (1, 0)),
        ("C18 interleaved", "C18", "certain", (1, 0)),
        ("C27 orphan at the end", "C27", "certain", (1, 0)),
        ("C27 headless at the end", "C27", "cannot_tell", (1, 0)),  # the topic may go on
        ("C30 aborted", "C30", "certain", (1, 0)),
        ("C30 open", "C30", "likely", (1, 0)),
        ("C30 half in one", "C30", "certain", (1, 0)),
        ("segment://C38 nothing tells", "C38", "cannot_tell", (1, 0)),
        ("C31 payload fills the limit", "C31", "likely", (1, 0)),
        ("C31 heavy header", "C31", "certain", (1, 0)),
    ],
)
def test_how_sure_and_where(
    found: dict[str, Any], topic: str, code: str, sureness: str, place: tuple[int, int]
) -> None:
    row = found[topic][code]
    assert (row["sureness"], (row["ledger_id"], row["entry_id"])) == (sureness, place)
