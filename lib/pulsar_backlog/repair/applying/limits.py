"""What one run of a plan may do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What one run may do.

    Attributes:
        actions: at most so many.
        entries: at most so many acknowledged entries.
        per_second: entries acknowledged, or messages published.
    """

    actions: int = 1000
    entries: int = 100_000
    per_second: float = 500.0
