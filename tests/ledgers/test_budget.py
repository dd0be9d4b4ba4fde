"""What a bounded run reads: the newest of each topic, in one piece."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from pulsar_backlog.ledgers.budget import Budget, TopicBytes, within


@dataclass(frozen=True)
class Copy:
    topic: str | None
    ledger_id: int
    data_bytes: int | None


PENDING = [Copy("a", 1, 50), Copy("b", 2, 10), Copy("a", 3, 30), Copy("a", 4, 20), Copy(None, 5, None)]
TOPICS = {"a": TopicBytes(100, 0), "b": TopicBytes(40, 30), None: TopicBytes(0, 0)}


@pytest.mark.parametrize(
    ("budget", "ledgers"),
    [
        (Budget(), [1, 2, 3, 4, 5]),
        (Budget(ledgers=2), [4, 5]),
        (Budget(ledgers=9), [1, 2, 3, 4, 5]),
        (Budget(data_bytes=110), [1, 2, 3, 4, 5]),
        (Budget(data_bytes=60), [2, 3, 4, 5]),  # 1 has no room
        (Budget(data_bytes=40), [2, 4, 5]),  # 3 has none, and 1 must not be read without it; b goes on
        (Budget(data_bytes=9), [5]),
        (Budget(percent=10), [4]),  # one at least; of b more than that is read already, the last has no bytes
        (Budget(percent=20), [4]),  # exactly so much
        (Budget(percent=20.1), [3, 4]),
        (Budget(percent=80), [1, 2, 3, 4]),
        (Budget(percent=100), [1, 2, 3, 4, 5]),  # also what has no bytes
        (Budget(data_bytes=40, percent=50, ledgers=9), [4]),
    ],
)
def test_what_is_read(budget: Budget, ledgers: list[int]) -> None:
    assert [copy.ledger_id for copy in within(budget, PENDING, TOPICS)] == ledgers


def test_one_piece() -> None:
    """Ledger 1 has room, but what is seen would have a hole."""
    pending = [Copy("a", 1, 5), Copy("b", 2, 5), Copy("a", 3, 30), Copy("a", 4, 20)]
    assert [copy.ledger_id for copy in within(Budget(data_bytes=40), pending, {})] == [2, 4]


def test_words() -> None:
    assert str(Budget(100, 3, 12.5)) == "--budget-bytes 100, --limit 3, --sample 12.5%"
