"""What a client does to the broker, and the messages it makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Message:
    """What the application gets.

    Attributes:
        label: which message.
        entries: its entries, in order.
        count: redelivery count of the last of them.
        whole: whether the content is right.
        retries: how often it went through the retry topic.
        is_slice: whether it is a chunk that the application gets as a message of its own.
    """

    label: str
    entries: tuple[int, ...]
    count: int
    whole: bool
    retries: int = 0
    is_slice: bool = False


class Connection(Protocol):
    """What a client does to the broker, and what it tells the world."""

    def flow(self, permits: int) -> None:
        """Give permits."""

    def acknowledge(self, batch: Sequence[int], *, cumulative: bool = False) -> None:
        """Acknowledge entries, or all up to one."""

    def redeliver(self, batch: Sequence[int] | None) -> None:
        """Ask for entries again, or for all."""

    def received(self, message: Message) -> None:
        """The application took a message."""

    def dead_letter(self, message: Message) -> bool:
        """Publish a message to the dead-letter topic; false when the broker refuses it for its size."""

    def retry_later(self, message: Message, delay_ms: int) -> bool:
        """Publish a message to the retry topic; false when the broker refuses it for its size."""

    def label(self, at: int) -> str:
        """Message of an entry."""
