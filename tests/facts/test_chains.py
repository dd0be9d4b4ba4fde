"""Chains of ledgers that entries tell of: what makes one, and what leaves everything unsaid."""

from __future__ import annotations

import pytest

from pulsar_backlog.facts.chains import Link, chains

X, Y = "persistent://t/n/x", "persistent://t/n/y"


def index(before: int, after: int) -> Link:
    return Link(before, after, "index", 1, "", 500)


def producer(before: int, after: int) -> Link:
    return Link(before, after, "producer", 2, "p-1", 42)


@pytest.mark.parametrize(
    ("topics", "links", "letters", "found"),
    [
        ({1: None, 2: None}, [], {}, []),  # nothing tells anything
        ({1: None, 2: None, 3: None}, [index(1, 2), index(2, 3)], {}, [((1, 2, 3), None)]),
        ({1: None, 2: None, 3: None}, [index(1, 2), producer(1, 2), producer(2, 3)], {}, [((1, 2, 3), None)]),
        ({1: None, 4: None, 2: None, 3: None}, [index(1, 4), index(2, 3)], {}, [((1, 4), None), ((2, 3), None)]),
        ({1: X, 2: None}, [producer(1, 2)], {}, [((1, 2), X)]),  # the admin API listed one of them
        ({1: X, 2: X}, [index(1, 2)], {}, []),  # all is known
        ({1: X, 2: None, 3: Y}, [index(1, 2), index(2, 3)], {}, []),  # one of the links lies
        ({1: None, 2: None, 3: None}, [index(1, 2), producer(1, 3)], {}, []),  # two lead away
        ({1: None, 2: None, 3: None}, [index(1, 3), producer(2, 3)], {}, []),  # two lead there
        ({1: None}, [], {1: X}, [((1,), X)]),
        ({1: None, 2: None}, [index(1, 2)], {2: X}, [((1, 2), X)]),
        ({1: None, 2: None}, [index(1, 2)], {1: X, 2: Y}, []),
        ({1: X}, [], {1: Y}, []),  # who else should know better
        ({1: None}, [], {7: X}, []),  # a ledger that is not here
    ],
)
def test_chains(
    topics: dict[int, str | None], links: list[Link], letters: dict[int, str], found: list[tuple[tuple[int, ...], str]]
) -> None:
    assert [(one.ledgers, one.topic) for one in chains(topics, links, letters)] == found


def test_evidence_in_words() -> None:
    (chain,) = chains({1: None, 2: None}, [producer(1, 2), index(1, 2)], {2: X})
    assert list(chain.evidence()) == [
        "1 to 2: the index goes on at 500",
        "1 to 2: producer p-1 goes on at sequence id 42, and 1 more producer",
        f"2: dead letters of it name {X}",
    ]
