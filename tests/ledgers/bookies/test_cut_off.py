"""Entries behind the recorded end: which were confirmed, by what evidence."""

from __future__ import annotations

from pulsar_backlog.ledgers.bookies.cut_off import cut_off_entries
from pulsar_backlog.ledgers.bookies.walk import StoredRecord


def record(entry_id: int, last_confirmed: int, place: str = "b1/current/0.log", is_proved: bool = True) -> StoredRecord:
    return StoredRecord(entry_id, place, 100 * entry_id, last_confirmed, is_proved, b"")


def grades(*records: StoredRecord, end: int = 10, ack_quorum: int | None = 2, counted: int | None = None) -> dict:
    return {one.record.entry_id: one.grade for one in cut_off_entries(records, end, ack_quorum, counted)}


def test_what_a_later_entry_names_was_confirmed() -> None:
    assert grades(record(9, 8), record(10, 9), record(11, 9), record(12, 10)) == {
        10: "certain", 11: "cannot_tell", 12: "cannot_tell",
    }  # fmt: skip
    (first, *_) = cut_off_entries([record(10, 9), record(12, 10)], 10, None, None)
    assert first.reason == "Entry 12 names entry 10 as the last confirmed one."


def test_a_record_that_no_digest_proves_says_nothing() -> None:
    assert grades(record(10, 9), record(11, 10, is_proved=False)) == {10: "cannot_tell"}


def test_as_many_copies_as_the_ack_quorum() -> None:
    both = [record(10, 9), record(10, 9, "b2/current/0.log")]
    assert grades(*both) == {10: "likely"}
    assert grades(*both, ack_quorum=None) == {10: "cannot_tell"}
    assert grades(*both, ack_quorum=3) == {10: "cannot_tell"}


def test_two_copies_of_one_bookie_are_one() -> None:
    assert grades(record(10, 9), record(10, 9, "b1/current/1.log")) == {10: "cannot_tell"}
    assert grades(record(10, 9), record(10, 9, "journal1/current/5.txn")) == {10: "cannot_tell"}
    assert grades(record(10, 9, "j1/5.txn"), record(10, 9, "j2/5.txn")) == {10: "likely"}


def test_an_add_is_confirmed_after_all_before_it() -> None:
    places = ("b1/current/0.log", "b2/current/0.log")
    assert grades(*(record(11, 9, place) for place in places)) == {11: "cannot_tell"}  # entry 10 is nowhere
    rows = [record(entry, 9, place) for entry in (10, 11) for place in places]
    assert grades(*rows) == {10: "likely", 11: "likely"}


def test_the_index_of_the_next_ledger() -> None:
    assert grades(record(10, 9), record(11, 9), counted=10) == {10: "likely", 11: "cannot_tell"}


def test_an_entry_log_is_believed_before_a_journal() -> None:
    (one,) = cut_off_entries([record(10, 9, "a/5.txn"), record(10, 9)], 10, None, None)
    assert one.record.path == "b1/current/0.log" and one.bookies == 1
