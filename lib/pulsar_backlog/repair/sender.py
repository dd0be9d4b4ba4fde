"""Who published a message that lies behind the recorded end of its ledger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Sender:
    """Who published a message that the log lost.

    Attributes:
        producer: its name.
        sequence_id: of the message, of a batch its first.
        is_own: whether it is published under this name and number again.
    """

    producer: str
    sequence_id: int
    is_own: bool


def sender_of(body: dict[str, Any] | None) -> Sender | None:
    """As a plan has it."""
    return None if body is None else Sender(**body)
