"""Entries of the ledgers in the files of a bookie."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pulsar_backlog.ledgers.bookies.ledgers import ledgers_found
from pulsar_backlog.ledgers.bookies.survey import read_logs
from pulsar_backlog.ledgers.kinds import walk_unit
from pulsar_backlog.ledgers.listing import take_listing
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.ledgers.values import ScanUnit

DATA = Path(__file__).parents[1] / "data"
BOOKIE = DATA / "bookies" / "source"


@dataclass(frozen=True)
class BookieLedger:
    """A ledger: whether its entries look like messages, and the entries."""

    of_messages: bool
    entries: tuple[bytes, ...]


@cache
def ledgers_of(folder: Path) -> dict[int, BookieLedger]:
    """Every ledger in the files of a bookie."""
    source = open_source(str(folder))
    found = ledgers_found(list(read_logs(source, take_listing(source).logs)), None)
    ledgers = {}
    for one in found:
        pair = one.examined.pair
        assert pair.data is not None
        unit = ScanUnit(pair.ledger_id, pair.copy, None, pair.data.path, 0, one.examined.blocks, "bookies")
        entries = [
            batch.buffer[offset : offset + length].tobytes()
            for batch in walk_unit(source, unit)
            for offset, length in zip(batch.offset.tolist(), batch.length.tolist(), strict=True)
        ]
        ledgers[pair.ledger_id] = BookieLedger(one.is_of_messages, tuple(entries))
    return ledgers
