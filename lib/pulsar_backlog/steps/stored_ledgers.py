"""Ledgers in the source, by the topics that they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pulsar_backlog.sql.engines import QueryEngine

TABLES_ASKED = ("ledgers", "ledger_facts")
_STORED = "SELECT ledger_id, topic, expected_entries FROM ledgers WHERE selected"
_READ = "SELECT ledger_id FROM ledger_facts"


@dataclass(frozen=True)
class StoredLedgers:
    """Ledgers in the source.

    Attributes:
        stored: topic and expected entries of each that is scanned or to be, by id.
        read: ids of those that were scanned.
    """

    stored: Mapping[int, tuple[str | None, int | None]]
    read: frozenset[int]

    @classmethod
    def of(cls, engine: QueryEngine) -> StoredLedgers:
        """All of them; `engine` knows `ledgers` and `ledger_facts`."""
        rows = engine.rows({"stored": _STORED, "read": _READ})
        stored = {row["ledger_id"]: (row["topic"], row["expected_entries"]) for row in rows["stored"]}
        return cls(stored, frozenset(row["ledger_id"] for row in rows["read"]))

    @cached_property
    def topics(self) -> dict[int, str]:
        """Topic of each, where something names it."""
        return {id_: topic for id_, (topic, _) in self.stored.items() if topic}

    @cached_property
    def lengths(self) -> dict[str, dict[int, int | None]]:
        """Expected entries by topic and ledger."""
        lengths: dict[str, dict[int, int | None]] = {}
        for ledger_id, (topic, count) in self.stored.items():
            lengths.setdefault(topic or "", {})[ledger_id] = count
        return lengths
