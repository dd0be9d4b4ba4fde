"""A number with its noun, in the form that the number asks for."""

from __future__ import annotations

import pytest

from pulsar_backlog.counting import counted


@pytest.mark.parametrize(
    ("number", "noun", "expected"),
    [
        (0, "entry", "0 entries"),
        (1, "entry", "1 entry"),
        (2, "copy", "2 copies"),
        (3, "key", "3 keys"),
        (1234, "message", "1,234 messages"),
        (1, "batch", "1 batch"),
        (2, "batch", "2 batches"),
        (2, "class", "2 classes"),
        (2, "suffix", "2 suffixes"),
        (2, "hash", "2 hashes"),
    ],
)
def test_a_noun_follows_its_number(number: int, noun: str, expected: str) -> None:
    assert counted(number, noun) == expected


def test_more_than_a_noun_is_given_in_both_forms() -> None:
    assert [counted(n, "consumer is", "consumers are") for n in (1, 2)] == ["1 consumer is", "2 consumers are"]
