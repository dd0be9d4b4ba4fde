"""What a walk finds wrong, on its way into batches: the first faults one by one, the rest as a number."""

from __future__ import annotations

from dataclasses import replace

from pulsar_backlog.ledgers.faults import Fault

MAX_FAULTS = 1000
"""Faults that one unit tells of one by one; the rest is only counted."""


class FaultLog:
    """Faults of one unit."""

    def __init__(self) -> None:
        self._waiting: list[Fault] = []
        self._count = 0
        self._unlisted: Fault | None = None

    def add(self, fault: Fault) -> None:
        """One more."""
        self.add_unlisted(1)
        if self._count <= MAX_FAULTS:
            self._waiting.append(fault)
        elif self._unlisted is None:
            self._unlisted = fault

    def add_unlisted(self, count: int) -> None:
        """Some more that nothing is known of but that they are there."""
        self._count += count

    def end(self) -> None:
        """Nothing more will come: what was only counted becomes a fault too."""
        if self._unlisted is not None:
            expected, found = f"at most {MAX_FAULTS} faults listed", f"{self._count - MAX_FAULTS} more"
            self._waiting.append(replace(self._unlisted, field="unit", expected=expected, found=found))
            self._unlisted = None

    def take(self) -> tuple[Fault, ...]:
        """Those that were not taken yet."""
        taken, self._waiting = tuple(self._waiting), []
        return taken
