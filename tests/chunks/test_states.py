"""Each state once, and the near miss that is another state."""

from __future__ import annotations

import pytest

from pulsar_backlog.chunks.rows import ChunkRow
from tests.chunks.build import GRACE_MS, fold, only, row, rows

NEWEST_MS = 1_000_001  # broker timestamp of entry 1


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("0 1 2 3", "whole"),
        ("0 1 | 0 1 2 3".replace("| ", ""), "whole"),
        ("0 1 3 2 3", "whole"),  # 0 1 2 3 ascend, though every client loses it
        ("0 2 1 3", "out_of_order"),
        ("3 0 1 2", "out_of_order"),
        ("0 1 2", "orphan_prefix"),
        ("0", "orphan_prefix"),
        ("0 2 1", "orphan_prefix"),  # ids 0..2, whatever their order
        ("1 2 3", "headless"),
        ("3", "headless"),
        ("0 2 3", "gap"),
        ("0 1 3", "gap"),
        ("0 2", "gap"),  # both an inner id and the end are missing
        ("0 1* 2 3", "whole"),  # damaged copies count for the state, not for rebuildable
        ("/0 /1 /2 /3", "whole"),  # four ledgers
    ],
)
def test_state(text: str, state: str) -> None:
    assert only(rows(text)).state == state


@pytest.mark.parametrize(
    ("state", "made"),
    [
        ("whole", [row(0, 0, 1, payload_length=500)]),  # one chunk: every client delivers it
        ("whole", [row(n, n, 4, chunk_uuid="5f0c3b1e-7d1f-4a44") for n in range(4)]),  # random, as 2.6.0 made it
        ("malformed", [row(1, 0, 1)]),  # id outside the count
        ("malformed", [row(4, 0, 4)]),
        ("headless", [row(3, 0, 4)]),  # near miss of the line above
        ("malformed", [row(-1, 0, 4)]),
        ("malformed", [row(0, 0, 0)]),
        ("malformed", [row(0, 0, -3)]),
        ("malformed", [row(0, 0, None)]),
        ("malformed", [row(None, 0, 4)]),
        ("malformed", [row(0, 0, 2, num_messages_in_batch=1), row(1, 1, 2, num_messages_in_batch=1)]),
        ("malformed", [row(0, 0, 2, chunk_uuid=""), row(1, 1, 2, chunk_uuid="")]),
        ("whole", [row(0, 0, 2), row(1, 1, 2), row(9, 2, 2, checksum_state="mismatch")]),  # damage explains it
        ("malformed", [row(0, 0, 2), row(1, 1, 2), row(9, 2, 2)]),
    ],
)
def test_fields_that_make_no_sense(state: str, made: list[ChunkRow]) -> None:
    assert only(made).state == state


@pytest.mark.parametrize("text", ["0 1", "1 2", "0 2"])
def test_in_flight_when_nothing_later_and_within_grace_of_the_end(text: str) -> None:
    at_end = {"producer_last": {"p": (7, 1)}, "complete_to_end": False, "producers_gone": False}
    assert only(rows(text), end_time_ms=NEWEST_MS + GRACE_MS, **at_end).state == "in_flight"
    assert only(rows(text), end_time_ms=NEWEST_MS + GRACE_MS + 1, **at_end).state != "in_flight"
    assert only(rows(text), end_time_ms=None, **at_end).state == "in_flight"
    # Nothing follows in a terminated topic, not even in a ledger that was closed without a count.
    final = {"is_terminated": True, "open_ledgers": frozenset({7})}
    assert only(rows(text), end_time_ms=NEWEST_MS, **final, **at_end).state != "in_flight"
    at_end["producer_last"] = {"p": (7, 2)}
    assert only(rows(text), end_time_ms=NEWEST_MS + GRACE_MS, **at_end).state != "in_flight"


def test_the_age_is_taken_from_the_brokers_clock_where_there_is_one() -> None:
    late = {"producer_last": {}, "end_time_ms": 1_000_000 + GRACE_MS + 1}
    assert only(rows("0 1"), **late).state == "in_flight"
    assert only(rows("0 1", broker_timestamp_ms=None), **late).state == "orphan_prefix"


def test_an_open_ledger_keeps_a_message_in_flight_unless_nobody_is_left_to_write() -> None:
    seen = {"open_ledgers": frozenset({7}), "complete_to_end": True}
    assert only(rows("0 1"), producers_gone=False, **seen).state == "in_flight"
    assert only(rows("0 1"), producers_gone=True, **seen).state == "orphan_prefix"
    assert only(rows("0 1"), producers_gone=True, end_time_ms=NEWEST_MS, **seen).state == "in_flight"
    assert only(rows("0 1"), producers_gone=False, open_ledgers=frozenset({8})).state == "orphan_prefix"
    assert only(rows("0 1"), complete_to_end=False, open_ledgers=frozenset({7})).state == "in_flight"


def test_a_damaged_newest_copy_is_new_but_does_not_name_its_producer() -> None:
    made = [*rows("0 1"), *rows("2*", start=2, producer_name="?", broker_timestamp_ms=1_000_000 + GRACE_MS)]
    end = {"end_time_ms": 1_000_000 + 2 * GRACE_MS}
    assert only(made, producer_last={}, **end).state == "in_flight"
    assert only(made, producer_last={"p": (7, 3)}, **end).state == "orphan_prefix"


@pytest.mark.parametrize("text", ["0 1 2 3", "0 2 1 3"])
def test_a_complete_message_is_never_in_flight(text: str) -> None:
    assert only(rows(text), open_ledgers=frozenset({7}), producers_gone=False).state in ("whole", "out_of_order")


def test_publications_are_told_apart_by_publish_time() -> None:
    first, second = rows("0 1"), rows("2 3", start=2, publish_time_ms=1_000_005)
    folded = fold(first + second)
    assert [publication.state for publication in folded.publications] == ["orphan_prefix", "headless"]
    assert [publication.publish_time_ms for publication in folded.publications] == [1_000_000, 1_000_005]
