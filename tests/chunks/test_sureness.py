"""How sure a verdict is, and that the reason names the doubt."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chunks.build import GRACE_MS, fold, only, row, rows

NEWEST_MS = 1_000_001
FINAL = {"is_terminated": True, "is_final": True}


@pytest.mark.parametrize(
    ("text", "changes", "sureness", "word"),
    [
        ("0 1 2 3", {}, "certain", "undamaged"),
        ("0 2 1 3", {}, "certain", "order"),
        ("0 1", {}, "certain", "goes on"),
        ("1 2 3", {}, "certain", "first chunk"),
        ("0 3", {}, "certain", "missing chunks"),
        # bytes
        ("0 1? 2 3", {}, "likely", "without a checksum"),
        ("0 1 2 3 3?", {}, "certain", "undamaged"),  # not a copy that is used
        ("0* 1* 2* 3*", {}, "cannot_tell", "every stored copy is damaged"),
        ("0 1* 2 3", {}, "likely", "damaged"),
        ("0 1* 1 2 3", {}, "certain", "undamaged"),
        ("0 1*", {}, "likely", "damaged"),
        ("0 1 1~ 2 3", {}, "cannot_tell", "differ"),
        # rejects matter only where something is missing
        ("0 1", {"has_rejects": True}, "likely", "could not be decoded"),
        ("0 1 2 3", {"has_rejects": True}, "certain", "undamaged"),
        # where the log begins
        ("1 2 3", {"begins_at_start": False}, "cannot_tell", "before the first ledger"),
        ("1 2 3", {"begins_at_start": False, "first_ledger_id": 6}, "likely", "before the first ledger"),
        ("1 2 3", {"begins_at_start": False, "first_ledger_id": None}, "cannot_tell", "before the first ledger"),
        ("0 2 3", {"begins_at_start": False}, "certain", "missing chunks"),
        ("0 1", {"begins_at_start": False, "begin_time_ms": 1_000_000 - GRACE_MS}, "likely", "may be a resend"),
        ("0 1", {"begins_at_start": False, "begin_time_ms": 999_999 - GRACE_MS}, "certain", "goes on"),
        ("0 1", {"begins_at_start": True, "begin_time_ms": 1_000_000}, "certain", "goes on"),
        # where it ends
        ("0 1", {"end_time_ms": NEWEST_MS + GRACE_MS}, "likely", "within the grace time"),
        ("0 1", {"end_time_ms": NEWEST_MS + GRACE_MS + 1}, "certain", "goes on"),
        ("0 1", {"end_time_ms": None}, "likely", "within the grace time"),
        ("0 1", {"producer_last": {}, "producers_gone": False}, "likely", "wrote nothing later"),
        ("0 1", {"producer_last": {}}, "certain", "goes on"),
        ("1 2 3", {"producer_last": {}, "producers_gone": False}, "certain", "first chunk"),
        ("0 1", {"producer_last": {}, "producers_gone": False, **FINAL}, "certain", "goes on"),
        ("0 1", {"end_time_ms": NEWEST_MS + GRACE_MS, **FINAL}, "certain", "goes on"),
        ("0 1", {"producer_last": {}, "is_terminated": True}, "cannot_tell", "not read to its last entry"),
        ("0 1", {"producer_last": {}, "is_terminated": True, "absent_ledgers": (8,)}, "cannot_tell", "not scanned"),
        ("0 1", {"end_time_ms": NEWEST_MS, "is_terminated": True}, "certain", "goes on"),  # its producer went on
        ("0 2 3", {"end_time_ms": NEWEST_MS, "is_terminated": True}, "certain", "missing chunks"),
        # ledgers that were not scanned
        ("0 1", {"absent_ledgers": (8,), "producer_last": {}}, "cannot_tell", "not scanned"),
        ("0 1", {"absent_ledgers": (8,), "producer_last": {"p": (9, 0)}}, "cannot_tell", "not scanned"),
        ("0 1", {"absent_ledgers": (8,), "producer_last": {"p": (7, 9)}}, "certain", "goes on"),
        ("0 1", {"absent_ledgers": (5,)}, "certain", "goes on"),
        ("1 2 3", {"absent_ledgers": (5,)}, "cannot_tell", "not scanned"),
        ("1 2 3", {"absent_ledgers": (9,)}, "certain", "first chunk"),
        ("0 2 3", {"absent_ledgers": (5, 9)}, "certain", "missing chunks"),
        ("0 1 2 3", {"absent_ledgers": (5, 9)}, "certain", "undamaged"),
        # seams that no list of ledgers knows
        ("0 1", {"unknown_after": (7,), "producer_last": {"p": (9, 0)}}, "likely", "other ledgers"),
        ("0 1", {"unknown_after": (7,), "producer_last": {"p": (7, 9)}}, "certain", "goes on"),
        ("0 1", {"unknown_after": (7,), "producer_last": {}}, "likely", "other ledgers"),
        ("0 1", {"unknown_after": (5, 99)}, "certain", "goes on"),
        ("1 2 3", {"unknown_after": (5,)}, "likely", "other ledgers"),
        ("1 2 3", {"unknown_after": (7,)}, "certain", "first chunk"),
        ("0 2 3", {"unknown_after": (5, 7)}, "certain", "missing chunks"),
        ("0 2 /3", {"unknown_after": (7,)}, "likely", "other ledgers"),
        ("0 1 2 3", {"unknown_after": (7,)}, "certain", "undamaged"),
    ],
)
def test_sureness(text: str, changes: dict[str, Any], sureness: str, word: str) -> None:
    publication = only(rows(text), **changes)
    assert publication.sureness == sureness
    assert word in publication.reason


def test_a_ledger_between_two_chunks_may_hold_what_is_missing() -> None:
    made = rows("0 1") + rows("3", ledger_id=9)
    assert only(made, absent_ledgers=(8,)).sureness == "cannot_tell"
    assert only(made, absent_ledgers=(10,)).sureness == "certain"


@pytest.mark.parametrize(
    ("changes", "sureness", "word"),
    [
        ({"complete_to_end": False}, "cannot_tell", "log ends"),
        ({"complete_to_end": True}, "likely", "topic's end is seen"),
        ({"complete_to_end": False, "open_ledgers": frozenset({7})}, "likely", "open"),
        ({"complete_to_end": True, "end_time_ms": None}, "cannot_tell", "unknown"),
    ],
)
def test_in_flight_is_never_certain(changes: dict[str, Any], sureness: str, word: str) -> None:
    at_end = {"end_time_ms": NEWEST_MS, "producer_last": {}, "producers_gone": False, **changes}
    publication = only(rows("0 1"), **at_end)
    assert publication.state == "in_flight"
    assert publication.sureness == sureness
    assert word in publication.reason


def test_contradictions_make_a_verdict_likely() -> None:
    conflict = only([*rows("0 1 2"), row(3, 3, metadata_digest=1)])
    assert (conflict.sureness, "contradict" in conflict.reason) == ("likely", True)
    lie = only(rows("0 1 2 3", total_bytes=9999))
    assert (lie.sureness, "total" in lie.reason) == ("likely", True)


def test_a_malformed_set_may_still_be_growing() -> None:
    made = rows("0 1", num_messages_in_batch=1)
    assert only(made).sureness == "certain"
    growing = only(made, end_time_ms=NEWEST_MS, producer_last={})
    assert (growing.state, growing.sureness) == ("malformed", "likely")
    complete = only(rows("0 1 2 3", num_messages_in_batch=1), end_time_ms=NEWEST_MS, producer_last={})
    assert (complete.state, complete.sureness) == ("malformed", "certain")


def test_a_damaged_entry_of_the_family_may_be_what_is_missing() -> None:
    made = [*rows("0 1 3"), *rows("2*", start=9, publish_time_ms=5)]
    gap, damaged = fold(made).publications
    assert (gap.state, gap.sureness) == ("gap", "likely")
    assert "same uuid" in gap.reason
    assert damaged.sureness == "cannot_tell"
    assert "same uuid" not in damaged.reason


def test_all_doubts_are_told_and_the_heaviest_decides() -> None:
    publication = only(rows("1? 2 3"), has_rejects=True, begins_at_start=False)
    assert publication.sureness == "cannot_tell"
    assert publication.reason.count(";") == 2


@pytest.mark.parametrize(
    ("changes", "sureness"),
    [
        ({"uncompressed_size": 3499}, "likely"),
        ({"uncompressed_size": 3501, "compression": "NONE"}, "likely"),
        ({"uncompressed_size": 3500}, "certain"),
        ({"uncompressed_size": 0}, "certain"),
        ({"uncompressed_size": None}, "certain"),
        ({"uncompressed_size": 3501, "compression": "ZSTD"}, "certain"),  # the decoder finds out
        ({"uncompressed_size": 3500, "encrypted": True, "total_bytes": 3500 - 64}, "likely"),  # without the tags
        ({"uncompressed_size": 3500 - 64, "encrypted": True, "total_bytes": 3500 - 64}, "certain"),
    ],
)
def test_an_uncompressed_message_that_states_another_size_is_not_certain(
    changes: dict[str, Any], sureness: str
) -> None:
    publication = only(rows("0 1 2 3", **changes))
    # No client looks at it: they deliver the message, which no flag denies.
    assert (publication.state, publication.flags, publication.rebuildable) == ("whole", (), True)
    assert (publication.sureness, "uncompressed size" in publication.reason) == (sureness, sureness == "likely")
