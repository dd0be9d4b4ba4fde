"""What the scan of each unit saw, as values that add up."""

from __future__ import annotations

from dataclasses import dataclass

from pulsar_backlog.ledgers.values import ScanUnit

UnitKey = tuple[int, str, int]


@dataclass(frozen=True)
class UnitAccount:
    """What one unit's scan saw. Accounts of a copy add up to its row in `scans`.

    Attributes:
        frames: entries walked over.
        decoded: of them, decoded.
        rejected: of them, rejected.
        faults: structure faults.
        order_faults: entries whose stored id is not the previous id + 1.
        entry_bytes: bytes of the entries walked over.
        valid: entries whose checksum agrees.
        mismatch: entries whose checksum does not.
        absent: entries without checksum.
        hidden: entries that a live broker keeps from every consumer.
        unreadable: why the unit could not be read to its end, in words, or None.
    """

    frames: int = 0
    decoded: int = 0
    rejected: int = 0
    faults: int = 0
    order_faults: int = 0
    entry_bytes: int = 0
    valid: int = 0
    mismatch: int = 0
    absent: int = 0
    hidden: int = 0
    unreadable: str | None = None

    @property
    def reject_rows(self) -> int:
        """Its rows in `rejects`."""
        return self.rejected + self.faults + self.hidden

    def __add__(self, other: UnitAccount) -> UnitAccount:
        """Both accounts together."""
        return UnitAccount(
            self.frames + other.frames,
            self.decoded + other.decoded,
            self.rejected + other.rejected,
            self.faults + other.faults,
            self.order_faults + other.order_faults,
            self.entry_bytes + other.entry_bytes,
            self.valid + other.valid,
            self.mismatch + other.mismatch,
            self.absent + other.absent,
            self.hidden + other.hidden,
            self.unreadable or other.unreadable,
        )


Accounts = dict[UnitKey, UnitAccount]


def unit_key(unit: ScanUnit) -> UnitKey:
    """What identifies a unit: ledger, copy, number."""
    return unit.ledger_id, unit.copy, unit.number
