"""What is known of millions of ledgers, by id, in a few bytes each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.wire.arrays import Int64s


class LedgerIds:
    """A set of ledger ids."""

    def __init__(self, ids: pa.ChunkedArray) -> None:
        self.ids: Int64s = np.unique(ids.to_numpy())

    def __contains__(self, ledger_id: object) -> bool:
        return self.place(ledger_id) is not None

    def place(self, ledger_id: object) -> int | None:
        """The place of an id in their order; None where it is not there."""
        if not isinstance(ledger_id, int) or not -(2**63) <= ledger_id < 2**63:
            return None
        at = int(np.searchsorted(self.ids, ledger_id))
        return at if at < len(self.ids) and self.ids[at] == ledger_id else None


class LedgerTopics(Mapping[int, str]):
    """Full topic names by ledger id, each name held once."""

    def __init__(self, ledgers: pa.Table) -> None:
        """From rows `ledger_id`, `topic`, a ledger once; those without a topic are left out."""
        named = ledgers.filter(pc.is_valid(ledgers["topic"])).sort_by("ledger_id")
        topics = named["topic"].combine_chunks().dictionary_encode()
        self._ids = LedgerIds(named["ledger_id"])
        self._names: list[str] = topics.dictionary.to_pylist()
        self._name: Int64s = topics.indices.to_numpy().astype(np.int64)

    def __getitem__(self, ledger_id: int) -> str:
        at = self._ids.place(ledger_id)
        if at is None:
            raise KeyError(ledger_id)
        return self._names[int(self._name[at])]

    def __iter__(self) -> Iterator[int]:
        return map(int, self._ids.ids)

    def __len__(self) -> int:
        return len(self._ids.ids)
