"""Each state and flag of `chunked_messages` as a finding, and a flawless message as C01 only."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.findings import CATALOGUE
from pulsar_backlog.steps.chunk_findings import COUNTED, TopicFacts, findings_of_chunks
from pulsar_backlog.steps.chunk_rows import name_chunk_entries
from pulsar_backlog.steps.finding_rows import noticed_findings
from tests.engines import ENGINES, asked_of, job_context, listed
from tests.frames.rows import fact_rows, table_rows

NEEDS_SPARK = True

# State and flags of one message per topic -> the codes it must raise, and no others.
CASES: dict[str, tuple[str, list[str], set[str]]] = {
    "flawless": ("whole", [], {"C01"}),
    "in two ledgers": ("whole", ["ledger_span"], {"C01", "C22"}),
    "arriving": ("in_flight", [], {"C07"}),
    "orphan": ("orphan_prefix", [], {"C06"}),
    "headless": ("headless", [], {"C08"}),
    "gap": ("gap", [], {"C09"}),
    "out of order": ("out_of_order", [], {"C10"}),
    "malformed": ("malformed", [], {"C15"}),
    "repeated": ("whole", ["repeated_prefix"], {"C02"}),
    "overlap": ("whole", ["overlap"], {"C03"}),
    "tail": ("whole", ["tail_residue"], {"C04"}),
    "twice": ("whole", ["whole_duplicate"], {"C05"}),
    "conflict": ("whole", ["metadata_conflict"], {"C11"}),
    "reused": ("whole", ["uuid_reused"], {"C12"}),
    "lies": ("whole", ["sizes_lie"], {"C13"}),
    "no codec's bytes": ("whole", ["decode_fault"], {"C14"}),
    "residue": ("whole", ["prefix_residue"], {"C17"}),
    "mixed": ("gap", ["mixed_with_another_publication", "uuid_reused"], {"C09", "C12", "C33"}),
    "damaged": ("whole", ["corrupt_copy"], {"C34"}),
    "two versions": ("whole", ["copies_differ"], {"C35"}),
    "uneven": ("whole", ["size_fault"], {"C36"}),
    "left of a resend": ("orphan_prefix", ["resend_residue"], {"C37"}),
    "left of a resend, likely": ("orphan_prefix", ["resend_residue", "uuid_reused"], {"C37", "C12"}),
}


@pytest.fixture(scope="module", params=ENGINES)
def found(request: pytest.FixtureRequest, spark: SparkSession) -> dict[str, dict[str, dict[str, Any]]]:
    """Topic -> code -> finding, of all cases at once."""
    rows = [
        {"topic": topic, "chunk_uuid": str(n), "state": state, "flags": flags, "sureness": "certain", "reason": "seen",
         "num_chunks": 3, "first_ledger_id": 7, "first_entry_id": n}
        for topic, (state, flags, _) in CASES.items()
        for n in range(2)
    ]  # fmt: skip
    rows[1] |= {"sureness": "likely", "reason": "perhaps"}
    tables = fact_rows([]) | {"chunked_messages": table_rows("chunked_messages", rows)}
    tables |= {name: table_rows(name, []) for name in ("transactions", "segments")}
    context = job_context(spark)
    by_topic: dict[str, dict[str, dict[str, Any]]] = {}
    with asked_of(request.param, context, tables) as asked:
        asked.materialize("producers", asked.sql("log", "producers", {}))
        name_chunk_entries(asked)
        for row in listed(noticed_findings(context, asked, findings_of_chunks(asked, TopicFacts()))):
            by_topic.setdefault(row["topic"], {})[row["code"]] = row
    return by_topic


@pytest.mark.parametrize("topic", CASES)
def test_a_state_and_its_flags_become_these_findings(found: dict[str, Any], topic: str) -> None:
    assert set(found[topic]) == CASES[topic][2]


def test_a_finding_is_as_the_catalogue_says_and_as_sure_as_its_least_sure_message(found: dict[str, Any]) -> None:
    assert found["flawless"]["C01"] == {
        "cluster": "c", "job": "job", "code": "C01", "name": CATALOGUE["C01"].name, "severity": "info",
        "subject": "flawless", "topic": "flawless", "ledger_id": 7, "entry_id": 0, "count": 2, "sureness": "likely",
        "reason": "perhaps", "message": "Chunked messages that are stored whole, in order and undamaged: 2.",
        "evidence": ["7:0", "7:1"], "incomplete": False,
    }  # fmt: skip


def test_every_counted_code_is_in_the_catalogue() -> None:
    assert set(COUNTED) <= set(CATALOGUE)
