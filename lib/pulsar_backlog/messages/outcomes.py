"""What can come of a message that is taken out of the log, and how sure one may be of it."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from pulsar_backlog.errors import DecodeError, SourceError
from pulsar_backlog.wire import batch, codecs, encryption

Outcome: TypeAlias = Literal[
    "exported", "wrong_size", "corrupt", "no_key", "undecryptable", "undecodable", "too_large", "no_room", "unreadable"
]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
"""`exported`: the payload is here; `wrong_size`: it is, but not as long as its metadata says; the others: it is not."""

OPENED: tuple[Outcome, ...] = ("exported", "wrong_size")
"""Outcomes of messages whose payload is here."""

_OUTCOME_OF: dict[str, Outcome] = {
    encryption.CODE_NO_KEY: "no_key",
    encryption.CODE_UNDECRYPTABLE: "undecryptable",
    codecs.CODE_UNDECODABLE: "undecodable",
    codecs.CODE_TOO_LARGE: "undecodable",
    codecs.CODE_UNKNOWN_CODEC: "undecodable",
    batch.CODE_BAD_COUNT: "undecodable",
    batch.CODE_OVERRUNS: "undecodable",
    batch.CODE_UNDECODABLE: "undecodable",
    batch.CODE_TRAILING: "undecodable",
}

NO_CHECKSUM = "stored without a checksum, so nobody could notice damage"
NULL_WITH_BYTES = "marked as null, but it holds bytes, which clients do not show"


class Unexportable(Exception):  # noqa: N818 - it names what the message is
    """A message, or one copy of a chunk, that cannot be given out.

    Attributes:
        outcome: why, as a word for tables.
        reason: why, in words; quotes neither keys nor payload.
    """

    def __init__(self, outcome: Outcome, reason: str) -> None:
        super().__init__(f"{outcome}: {reason}")
        self.outcome: Outcome = outcome
        self.reason = reason


def too_large(what: str, max_message_bytes: int) -> Unexportable:
    """Of a message that was given up, or not begun."""
    return Unexportable("too_large", f"{what}: name a larger --max-message-bytes than {max_message_bytes}")


def unexportable(error: DecodeError | SourceError) -> Unexportable:
    """The error in the export's words."""
    if isinstance(error, SourceError):
        return Unexportable("unreadable", f"its bytes could not be read ({error.reason})")
    outcome = _OUTCOME_OF.get(error.code, "corrupt")
    return Unexportable(outcome, f"{error.code}: expected {error.expected}, found {error.found}")
