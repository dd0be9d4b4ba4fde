"""Objects of a real 5.0.0-M1 through an audit and an export: without its metadata store, and with it."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from pulsar_backlog.terms import EXIT_CLEAN, EXIT_INCOMPLETE
from tests.auditing import DATA, Audited, run_audit, run_job_of, run_one

NEEDS_SPARK = True

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PULSAR5 = DATA / "pulsar5"
TRANSFERS = "segment://acme/shop/transfers/0000-ffff-0"
RACE = "segment://acme/shop/race/0000-ffff-0"


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """The audit of the objects alone, and an export."""
    found = run_audit(PULSAR5 / "objects", tmp_path_factory.mktemp("pulsar5"))
    assert run_job_of("export", "export_messages", PULSAR5 / "objects", found.out).exit_code == EXIT_CLEAN
    return found


def test_segments_are_named_and_what_is_not_known_is_said(audited: Audited) -> None:
    assert audited.exit_code == EXIT_INCOMPLETE
    assert audited.result["verdict"]["complete"] is False
    codes = audited.codes()
    assert codes["S50"] == ["topic://acme/shop/race", "topic://acme/shop/transfers"]
    assert not {"S18", "B02"} & codes.keys()  # all have a topic; a batch in a transaction moves the index on by one
    assert {row["topic"] for row in audited.rows("segments", "topic")} == set(codes["S50"])


def test_messages_of_transactions_are_exported_as_undecided(audited: Audited) -> None:
    rows = audited.rows("messages", "topic", "ledger_id", "entry_id", "transaction")
    of_segment = [row for row in rows if row["topic"] == TRANSFERS]
    assert {row["transaction"] for row in of_segment} == {None, "cannot_tell"}
    delivered = {
        (line["id"]["ledger"], line["id"]["entry"])
        for line in map(json.loads, _expected("transfers"))
        if line["topic"] == TRANSFERS and line["id"]["ledger"] == 37  # a broker never offloads a segment's last ledger
    }
    # Nothing that a consumer was given is left out.
    assert delivered <= {(row["ledger_id"], row["entry_id"]) for row in of_segment}
    # Markers decide in a topic of v4 clients, as before: two committed, one aborted, one open.
    of_topic = Counter(row["transaction"] for row in rows if "payments" in row["topic"])
    assert of_topic.keys() <= {None, "committed"}
    assert "X12" in audited.codes()


def _expected(name: str) -> list[str]:
    return (PULSAR5 / "expected" / f"acme__shop__{name}.v5-checkpoint.jsonl").read_text().splitlines()


def test_with_the_metadata_store_the_layout_is_known(spark: SparkSession, audited: Audited) -> None:
    run_one("assemble_chunks", PULSAR5 / "objects", audited.out, admin=PULSAR5 / "admin")
    assert "S50" not in audited.codes()
    stored = {
        row["segment"]: (row["status"], row["is_terminated"]) for row in audited.rows("segments") if row["ledgers"]
    }
    assert stored == {
        RACE: ("sealed", True),
        "segment://acme/shop/race/0000-7fff-1": ("active", False),
        TRANSFERS: ("sealed", True),
        "segment://acme/shop/transfers/0000-7fff-1": ("sealed", True),
    }


def test_with_the_metadata_store_transactions_are_decided(spark: SparkSession, audited: Audited) -> None:
    run_one("assemble_chunks", PULSAR5 / "objects", audited.out, admin=PULSAR5 / "admin")
    assert run_job_of("export", "export_messages", PULSAR5 / "objects", audited.out).exit_code == EXIT_CLEAN
    rows = audited.rows("messages", "topic", "ledger_id", "entry_id", "transaction")
    exported = {(row["ledger_id"], row["entry_id"]) for row in rows if "/transfers/" in row["topic"]}
    # What a consumer is given, of the ledgers that were offloaded; it names a chunked message by its last chunk.
    ids = [json.loads(line)["id"] for line in _expected("transfers")]
    delivered = {(one["ledger"], one["entry"]) for one in ids if one["ledger"] in (37, 40)}
    assert delivered <= exported
    # Committed, and not given yet: transaction 7_0 is open from 40:3 on, and holds back what stands behind it.
    assert exported - delivered == {(40, 8), (40, 9), (40, 10), (40, 14)}
    assert {row["transaction"] for row in rows} == {None, "committed"}
    assert not {"X12", "C38"} & audited.codes().keys()
