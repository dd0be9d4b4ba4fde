"""Each rule of conf/quality: what fires it, and which legal facts do not."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from healthy_audit import frame

from pulsar_backlog.quality.rules import Rule
from pulsar_backlog.tables.quality_results import TABLE


@dataclass(frozen=True)
class Case:
    """One row of a summary, and the rules that it breaks."""

    reason: str
    summary: str
    change: dict[str, Any]
    breaks: set[str] = field(default_factory=set)


L, T, A = "ledger_summary", "topic_summary", "audit_summary"
CASES = [
    # What must be noticed.
    Case("an entry vanished in the scan", L, {"decoded": 13, "entries_rows": 13, "distinct_entries": 13},
         {"ledger_frames_accounted_for"}),
    Case("a decoded entry was not stored", L, {"entries_rows": 13, "distinct_entries": 13},
         {"ledger_decoded_in_entries"}),
    Case("a reject was not stored", L, {"decoded": 13, "rejected": 1, "entries_rows": 13, "distinct_entries": 13},
         {"ledger_rejected_in_rejects"}),
    Case("the ledger's end is missing", L,
         {"frames": 13, "decoded": 13, "entries_rows": 13, "distinct_entries": 13, "max_entry_id": 12},
         {"ledger_complete"}),
    Case("a byte is missing", L, {"entry_bytes": 605775}, {"ledger_bytes"}),
    Case("an entry was stored twice instead of another", L, {"distinct_entries": 13}, {"ledger_entry_ids_unique"}),
    Case("an entry id is negative", L, {"min_entry_id": -1}, {"ledger_first_entry_id"}),
    Case("an entry id is the ledger's length", L, {"max_entry_id": 14}, {"ledger_last_entry_id"}),
    Case("entry ids are not in order", L, {"order_faults": 1}, {"ledger_entry_order"}),
    Case("a checksum disagrees", L, {"checksum_mismatch": 1}, {"ledger_checksums"}),
    Case("padding is wrong", L, {"structure_faults": 1}, {"ledger_structure"}),
    Case("a unit could not be read", L, {"unreadable_units": 1}, {"ledger_readable"}),
    Case("an entry has no bytes", L, {"non_positive_lengths": 1}, {"ledger_entry_sizes"}),
    Case("an entry lies beyond its object", L, {"beyond_object": 1}, {"ledger_entries_in_object"}),
    Case("a publish time is out of range", L, {"publish_time_nulls": 1}, {"ledger_publish_times"}),
    Case("a chunk entry is in no chunk row", T, {"chunk_entries": 13}, {"topic_chunk_entries_in_chunks"}),
    Case("a chunk is in no message", T, {"copies_in_messages": 11}, {"topic_chunks_in_messages"}),
    Case("a message without chunks", T, {"chunked_messages": 13}, {"topic_messages_have_chunks"}),
    Case("the index repeats", T, {"index_backwards": 1}, {"topic_index_rises"}),
    Case("the broker's time goes back", T, {"broker_time_backwards": 1}, {"topic_broker_time_rises"}),
    Case("publish times mostly go back", T, {"publish_time_backwards": 501}, {"topic_publish_time_rises"}),
    Case("a producer lives in another week", T, {"max_publish_skew_ms": 604_800_001}, {"topic_publish_skew"}),
    Case("the newest is older than the oldest", T, {"newest_time_ms": 1795258599999}, {"topic_times_ordered"}),
    Case("a monstrous entry", T, {"largest_entry_bytes": 64 * 1024 * 1024 + 1}, {"topic_entry_sizes"}),
    Case("a copy was not scanned", A, {"copies_scanned": 1}, {"audit_copies_scanned"}),
    Case("entries are lost on the way to the table", A, {"entries_rows": 27}, {"audit_entries_stored"}),
    Case("entries are twice in the table", A, {"entries_rows": 56}, {"audit_entries_stored"}),
    Case("rejects are lost on the way to the table", A, {"rejects_rows": 0}, {"audit_rejects_stored"}),
    Case("a table is missing", A, {"tables_present": 8}, {"audit_tables_present"}),
    Case("an object was unreadable", A, {"findings_incomplete": 1}, {"audit_source_readable"}),
    Case("a finding is an error", A, {"findings_errors": 1}, {"audit_no_error_findings"}),
    Case("a ledger has no topic", A, {"unknown_topic_ledgers": 1}, {"audit_topics_known"}),
    Case("nothing new for a century", A, {"hours_since_newest": 876_000.5}, {"audit_fresh"}),
    # What is legal.
    Case("nothing promised a number of entries or bytes", L, {"expected_entries": None, "expected_bytes": None}),
    Case("a rejected entry, stored as such", L,
         {"decoded": 13, "rejected": 1, "entries_rows": 13, "rejects_rows": 1, "distinct_entries": 13,
          "entry_bytes": 605000}),
    Case("every entry was rejected, so there are no ids", L,
         {"decoded": 0, "rejected": 14, "entries_rows": 0, "rejects_rows": 14, "distinct_entries": 0,
          "entry_bytes": 0, "min_entry_id": None, "max_entry_id": None}),
    Case("no chunks", T, {"chunk_entries": 0, "chunks_rows": 0, "chunked_messages": 0, "copies_in_messages": 0}),
    Case("one entry", T, {"entries": 1, "oldest_time_ms": 1, "newest_time_ms": 1}),
    Case("an empty topic without times", T,
         {"entries": 0, "chunk_entries": 0, "chunks_rows": 0, "chunked_messages": 0, "copies_in_messages": 0,
          "max_publish_skew_ms": None, "oldest_time_ms": None, "newest_time_ms": None,
          "largest_entry_bytes": None}),
    Case("no broker metadata, so no skew", T, {"max_publish_skew_ms": None}),
    Case("two producers alternate, one with a slow clock", T, {"publish_time_backwards": 500}),
    Case("few entries, in any order", T, {"entries": 99, "publish_time_backwards": 98}),
    Case("a week in replication", T, {"max_publish_skew_ms": 604_800_000}),
    Case("an entry of exactly one block", T, {"largest_entry_bytes": 64 * 1024 * 1024}),
    Case("an old backlog", A, {"hours_since_newest": 87_600.0}),
    Case("a producer's clock is ahead", A, {"hours_since_newest": -3.0}),
    Case("no entry has a time", A, {"hours_since_newest": None}),
]  # fmt: skip


@pytest.fixture(scope="module")
def results(by_rule: Any) -> dict[str, dict[str, Any]]:
    """All cases at once, each a row of its summary under its reason."""
    result: dict[str, dict[str, Any]] = by_rule(
        **{s: frame(s, *({"subject": c.reason, **c.change} for c in CASES if c.summary == s)) for s in (L, T, A)}
    )
    return result


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.reason)
def test_case(case: Case, results: dict[str, dict[str, Any]]) -> None:
    assert {rule for rule, row in results.items() if case.reason in row["examples"]} == case.breaks


def test_each_rule_has_a_case(rules: list[Rule]) -> None:
    assert {rule.id for rule in rules} == set().union(*(case.breaks for case in CASES))


def test_counts(results: dict[str, dict[str, Any]]) -> None:
    of_ledgers = sum(case.summary == L for case in CASES)
    # One case has no expected entries; null is not checked.
    assert results["ledger_complete"]["checked"] == of_ledgers - 1
    # One case has no expected bytes; the condition leaves three others out.
    assert results["ledger_bytes"]["checked"] == of_ledgers - 4
    assert (results["audit_entries_stored"]["failed"], results["audit_entries_stored"]["passed"]) == (2, False)


def test_rows_are_rows_of_the_table(results: dict[str, dict[str, Any]]) -> None:
    columns = [name for name in TABLE.column_names() if name != "cluster"]
    types = {"string": str, "boolean": bool, "bigint": int, "array<string>": list}
    for row in results.values():
        assert list(row) == columns
        for column in TABLE.columns[1:]:
            assert type(row[column.name]) is types[column.type]


def test_summaries_without_rows_pass(by_rule: Any) -> None:
    assert {(row["passed"], row["checked"], row["failed"]) for row in by_rule().values()} == {(True, 0, 0)}


def test_at_most_twenty_examples(by_rule: Any) -> None:
    ledgers = frame(L, *({"subject": f"ledger {n}", "checksum_mismatch": 1} for n in range(21)))
    row = by_rule(ledger_summary=ledgers)["ledger_checksums"]
    assert (row["failed"], row["examples"]) == (21, [f"ledger {n}" for n in range(20)])


@pytest.mark.parametrize("dtype", ["Int64", "float64", "object"])
def test_null_in_each_type_that_a_frame_may_have(dtype: str, by_rule: Any) -> None:
    ledgers = frame(L, {"subject": "a", "expected_entries": None}, {"subject": "b", "expected_entries": 99})
    ledgers["expected_entries"] = ledgers["expected_entries"].astype(dtype)
    assert by_rule(ledger_summary=ledgers)["ledger_complete"]["examples"] == ["b"]
