"""Who published a message that lies behind the recorded end of its ledger."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Origin:
    """Who published a message that the log lost.

    Attributes:
        producer: its name.
        sequence_id: of the message, of a batch its first.
        is_own: whether it is published under this name and number again.
    """

    producer: str
    sequence_id: int
    is_own: bool
