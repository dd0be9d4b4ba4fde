"""Acknowledged entries of a subscription as plain sets, so that before and after can be subtracted."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pyroaring import BitMap

from pulsar_backlog.cursors.acked import AckedSet
from pulsar_backlog.repair.values import Run
from pulsar_backlog.terms import Position


@dataclass(frozen=True)
class Entries:
    """Entries by ledger; no empty ones. Built for ledgers that exist, so that mark-delete needs no special case."""

    ledgers: Mapping[int, BitMap] = field(default_factory=dict)

    def __sub__(self, other: Entries) -> Entries:
        """Entries that are here and not there."""
        return _without_empty({id_: bits - other.ledgers.get(id_, BitMap()) for id_, bits in self.ledgers.items()})

    def __or__(self, other: Entries) -> Entries:
        """Entries that are in either."""
        ids = {*self.ledgers, *other.ledgers}
        return Entries({id_: self.ledgers.get(id_, BitMap()) | other.ledgers.get(id_, BitMap()) for id_ in ids})

    def __len__(self) -> int:
        """How many."""
        return sum(map(len, self.ledgers.values()))

    def within(self, ledger_ids: Iterable[int]) -> Entries:
        """Only those of some ledgers."""
        wanted = set(ledger_ids)
        return Entries({id_: bits for id_, bits in self.ledgers.items() if id_ in wanted})

    def positions(self) -> Iterator[Position]:
        """One after the other, in the order of the log."""
        for ledger_id in sorted(self.ledgers):
            for entry_id in self.ledgers[ledger_id]:
                yield ledger_id, entry_id

    def as_text(self) -> dict[str, str]:
        """For JSON; each ledger a serialized bitmap in base64."""
        return {str(id_): base64.b64encode(bits.serialize()).decode() for id_, bits in self.ledgers.items()}


def entries_of_text(text: Mapping[str, str]) -> Entries:
    """What `as_text` made.

    Raises:
        ValueError: something else.
    """
    try:
        return Entries({int(id_): BitMap.deserialize(base64.b64decode(bits)) for id_, bits in text.items()})
    except binascii.Error as error:
        raise ValueError(str(error)) from error


def entries_of_runs(runs: Iterable[Run]) -> Entries:
    """The entries of runs."""
    ledgers: dict[int, BitMap] = {}
    for run in runs:
        ledgers.setdefault(run.ledger_id, BitMap()).add_range(run.first_entry_id, run.last_entry_id + 1)
    return _without_empty(ledgers)


def acknowledged(acked: AckedSet, lengths: Mapping[int, int]) -> Entries:
    """Entries that are acknowledged, of ledgers with these many entries."""
    ledgers = {}
    for ledger_id, length in lengths.items():
        bits = acked.ledgers.get(ledger_id, BitMap()).copy()
        up_to = length if ledger_id < acked.mark_delete[0] else 0
        if ledger_id == acked.mark_delete[0]:
            up_to = acked.mark_delete[1] + 1
        if up_to > 0:
            bits.add_range(0, up_to)
        ledgers[ledger_id] = bits
    return _without_empty(ledgers)


def all_entries(lengths: Mapping[int, int]) -> Entries:
    """Every entry of ledgers with these many entries."""
    return entries_of_runs(Run(ledger_id, 0, length - 1) for ledger_id, length in lengths.items())


def _without_empty(ledgers: Mapping[int, BitMap]) -> Entries:
    return Entries({ledger_id: bits for ledger_id, bits in ledgers.items() if bits})
