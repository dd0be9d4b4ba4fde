"""What consumers would get again or skip on the other side: each kind of message by hand."""

from __future__ import annotations

import duckdb
import pyarrow as pa

from pulsar_backlog.sql.failover import COUNTS, RANGES, Acknowledgements, failover

TOPIC = "persistent://shop/eu/orders"
Run = tuple[int, int, int, list[int] | None]


def digests(side: str, ledger: int, origins: list[list[int]]) -> list[dict[str, object]]:
    """Entries of one ledger, each with the origins of its messages; a message is sent at the time of its origin."""
    return [
        {
            "cluster": "c", "side": side, "topic": TOPIC, "ledger_id": ledger, "entry_id": entry,
            "batch_index": member if len(members) > 1 else -1, "publish_time_ms": origin, "origin": origin,
            "ordinal": 0,
        }
        for entry, members in enumerate(origins) for member, origin in enumerate(members)
    ]  # fmt: skip


def counted(a: list[list[int]], b: list[list[int]], open_a: list[Run], open_b: list[Run]) -> dict[str, list[int]]:
    rows = pa.Table.from_pylist([*digests("a", 1, a), *digests("b", 8, b)])
    states = {
        side: Acknowledgements(
            TOPIC, pa.Table.from_pylist([dict(zip(RANGES.names, run, strict=True)) for run in runs], schema=RANGES)
        )
        for side, runs in (("a", open_a), ("b", open_b))
    }
    with duckdb.connect() as connection:
        connection.register("message_digests", rows)
        made = failover(connection, "c", states)
    assert all(set(counts) == set(COUNTS) for counts in made.values())
    return {side: [counts[name] for name in COUNTS] for side, counts in made.items()}


SINGLES = [[origin] for origin in range(10)]


def test_the_same_state_is_neither_again_nor_skipped() -> None:
    made = counted(SINGLES, SINGLES, [(1, 4, 9, None)], [(8, 4, 9, None)])
    assert made == {"a": [6, 0, 0, 0, 0, 0, 0], "b": [6, 0, 0, 0, 0, 0, 0]}


def test_behind_there_is_again_and_ahead_there_is_skipped() -> None:
    """B stands at 2, A at 5: three come again there; whoever goes from B to A skips them."""
    made = counted(SINGLES, SINGLES, [(1, 5, 9, None)], [(8, 2, 9, None)])
    assert made["b"] == [8, 3, 3, 0, 0, 0, 0]
    assert made["a"] == [5, 0, 0, 3, 3, 0, 0]


def test_holes_count_by_themselves() -> None:
    """A has acknowledged all but 3 and what comes after 6; B all up to 6."""
    made = counted(SINGLES, SINGLES, [(1, 3, 3, None), (1, 7, 9, None)], [(8, 7, 9, None)])
    assert made["b"] == [3, 0, 0, 1, 1, 0, 0]
    assert made["a"] == [4, 1, 1, 0, 0, 0, 0]


def test_messages_that_are_not_stored_are_absent() -> None:
    made = counted(SINGLES, SINGLES[:8], [(1, 5, 9, None)], [(8, 5, 7, None)])
    assert made["b"] == [3, 0, 0, 0, 0, 2, 2]
    assert made["a"] == [5, 0, 0, 0, 0, 0, 0]


def test_members_behind_those_that_are_listed_count_as_open() -> None:
    batch = [list(range(1500))]
    made = counted(batch, batch, [(1, 0, 0, list(range(1000)))], [(8, 0, 0, None)])
    assert made["b"] == [1500, 0, 0, 0, 0, 0, 0]


def test_what_the_other_side_trimmed_comes_again() -> None:
    """A begins at 4, so it has acknowledged what lies before."""
    made = counted(SINGLES[4:], SINGLES, [(1, 2, 5, None)], [(8, 2, 9, None)])
    assert made["b"] == [8, 4, 4, 0, 0, 0, 0]


def test_members_of_batches_count_and_their_entries_once() -> None:
    """The same messages, batched otherwise there; of one batch only the third member is not acknowledged."""
    batches = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    made = counted(SINGLES, batches, [(1, 9, 9, None)], [(8, 0, 0, [2]), (8, 1, 2, None)])
    assert made["b"] == [7, 6, 3, 0, 0, 0, 0]
    assert made["a"] == [1, 0, 0, 6, 3, 0, 0]


def test_a_subscription_without_backlog() -> None:
    assert counted(SINGLES, SINGLES, [], []) == {side: [0] * 7 for side in ("a", "b")}
