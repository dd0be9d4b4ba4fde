"""What a topic's ledgers hold, by numbers, and the places that stop its being published again."""

from __future__ import annotations

from dataclasses import dataclass, field

MAX_TOLD = 20
"""Damaged places that are named; the rest is only counted."""


@dataclass
class Tally:
    """What a topic's ledgers hold, by numbers.

    Attributes:
        entries: that are published.
        entry_bytes: sum of their bytes.
        largest_bytes: bytes of the largest.
        chunks: how many of them are parts of messages.
        changed: how many of them lose transaction or schema fields.
        markers: left out.
        uncommitted: messages of transactions that no stored marker commits, or the metadata store aborts; left out.
        is_encrypted: whether all are.
        damaged: entries that are damaged, missing or undecided, and ledgers.
        undecided: how many of them are messages of a transaction that is open, or of which nothing tells how it ended.
        places: the first of them, in words.
        open_ledgers: ledgers of which nothing tells where they end.
    """

    entries: int = 0
    entry_bytes: int = 0
    largest_bytes: int = 0
    chunks: int = 0
    changed: int = 0
    markers: int = 0
    uncommitted: int = 0
    is_encrypted: bool = True
    damaged: int = 0
    undecided: int = 0
    places: list[str] = field(default_factory=list)
    open_ledgers: list[int] = field(default_factory=list)

    def tell(self, count: int, words: str) -> None:
        """Count what is damaged, and name the first such places."""
        self.damaged += count
        if len(self.places) < MAX_TOLD:
            self.places.append(words)
