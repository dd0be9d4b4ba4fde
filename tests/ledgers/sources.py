"""Folders of offloaded ledgers for tests, and everything a scan finds in them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pulsar_backlog.ledgers.faults import Fault
from pulsar_backlog.ledgers.inventory import Inventory, take_inventory
from pulsar_backlog.ledgers.kinds import walk_unit
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.ledgers.values import UNIT_BYTES, LedgerCopy
from tests.ledgers.encoding import UUID, Offloaded


def put(folder: Path, stored: Offloaded, ledger_id: int = 7, uuid: str = UUID) -> tuple[Path, Path]:
    """Write data and index object; gives their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    data, index = folder / f"{uuid}-ledger-{ledger_id}", folder / f"{uuid}-ledger-{ledger_id}-index"
    data.write_bytes(stored.data)
    index.write_bytes(stored.index)
    return data, index


@dataclass
class Seen:
    """The inventory of a source, and what a scan of its selected copies gave, by ledger."""

    inventory: Inventory
    entries: dict[int, list[tuple[int, bytes]]]
    faults: dict[int, list[Fault]]

    def codes(self) -> dict[str, list[str]]:
        """Findings: subjects by code."""
        found: dict[str, list[str]] = {}
        for finding in self.inventory.findings:
            found.setdefault(finding.code, []).append(finding.subject)
        return found

    def fault_codes(self, ledger_id: int = 7) -> list[str]:
        return [fault.code for fault in self.faults[ledger_id]]

    def copy(self, ledger_id: int = 7) -> LedgerCopy:
        [copy] = [c for c in self.inventory.copies if c.ledger_id == ledger_id]
        return copy


def see(folder: Path, window_bytes: int = UNIT_BYTES, unit_bytes: int = UNIT_BYTES) -> Seen:
    """Take the inventory of a folder and scan every selected copy."""
    source = open_source(str(folder))
    seen = Seen(take_inventory(source), {}, {})
    for copy in seen.inventory.copies:
        if not copy.selected:
            continue
        entries = seen.entries.setdefault(copy.ledger_id, [])
        faults = seen.faults.setdefault(copy.ledger_id, [])
        for unit in units_of(copy, unit_bytes):
            for batch in walk_unit(source, unit, window_bytes):
                places = zip(batch.entry_id.tolist(), batch.offset.tolist(), batch.length.tolist(), strict=True)
                entries += [(i, batch.buffer[at : at + size].tobytes()) for i, at, size in places]
                faults += batch.faults
    return seen


def whole(stored: Offloaded) -> list[tuple[int, bytes]]:
    """Every entry, as a scan must give it."""
    return list(enumerate(stored.entries))
