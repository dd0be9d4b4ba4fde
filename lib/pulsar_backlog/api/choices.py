"""Arguments of the API that say which rows, and how they are read: their types, and their checks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias, get_args

from pulsar_backlog.api.ledger_times import LATE
from pulsar_backlog.api.wanted import Wanted
from pulsar_backlog.errors import UsageError
from pulsar_backlog.messages.masking import Mask
from pulsar_backlog.options import parse_instant
from pulsar_backlog.schemas.decoder import needed_for
from pulsar_backlog.schemas.values import TopicSchemas
from pulsar_backlog.terms import position_of

Names: TypeAlias = str | Sequence[str]
"""One, or several of which any may match."""
Time: TypeAlias = datetime | str
"""A datetime with its time zone, or ISO 8601 text, which is UTC where it names no zone."""
Mode: TypeAlias = Literal["permissive", "dropmalformed", "failfast"]
"""What becomes of what is broken: a row with its reason where there can be one, no row, or an error."""

Visible: TypeAlias = Literal["committed", "stored", "compacted"]
"""Whose messages: those that a reader gets, all that are stored, or those that a reader of the compacted topic gets."""

ALLOWED_LATENESS_SECONDS = int(LATE.total_seconds())
MAX_LATENESS_SECONDS = 10**9
"""Some thirty years: longer than there are messages."""
MAX_MESSAGE_BYTES = 256 * 1024 * 1024
"""Largest payload that is put into a row unless another bound is given."""


@dataclass(frozen=True)
class Reading:
    """How messages are read, see `Backlog.messages`; `schemas` are those to decode by, `columns` None is all.

    `threads` decode: one where tasks share the cores already.
    """

    mode: Mode = "permissive"
    visible: Visible = "committed"
    max_message_bytes: int = MAX_MESSAGE_BYTES
    chunked: bool = True
    schemas: TopicSchemas | None = None
    masks: tuple[Mask, ...] = ()
    columns: tuple[str, ...] | None = None
    threads: int = 1

    @property
    def made(self) -> frozenset[str] | None:
        """Names of the columns of `messages` that are made for those that are asked for; None is all."""
        if self.columns is None or self.masks or self.visible == "compacted":
            return None
        faults = () if self.mode == "permissive" else ("outcome", "reason")
        return frozenset((*self.columns, *faults, *(needed_for(self.schemas) if self.schemas else ())))

    @property
    def gives_payload(self) -> bool:
        """Whether payloads are asked for, besides what they are decoded to."""
        return self.made is None or "payload" in (self.columns or ())


def checked_mode(mode: Mode) -> Mode:
    """The mode.

    Raises:
        UsageError: it is none.
    """
    if mode not in ("permissive", "dropmalformed", "failfast"):
        raise UsageError(f"mode {mode!r} is none of permissive, dropmalformed, failfast")
    return mode


def checked_visible(visible: Visible, transactions: str) -> Visible:
    """What is visible; `transactions`, the older argument, is `all` for what is stored.

    Raises:
        UsageError: it is nothing, or the two contradict each other.
    """
    if visible not in get_args(Visible):
        raise UsageError(f"visible {visible!r} is none of {', '.join(get_args(Visible))}")
    if transactions not in ("committed", "all"):
        raise UsageError(f"transactions {transactions!r} is none of committed, all")
    if transactions == "all" and visible == "compacted":
        raise UsageError("a compacted topic has no messages of aborted transactions: leave transactions out")
    return "stored" if transactions == "all" else visible


def wanted_of(
    topic: Names, ledgers: Iterable[int] = (), start: str | None = None, end: str | None = None,
    since: Time | None = None, until: Time | None = None, producer: Names = (), key: Names = (),
    allowed_lateness_seconds: int = ALLOWED_LATENESS_SECONDS,
) -> Wanted:  # fmt: skip
    """A choice of rows from the arguments of `Backlog`.

    Raises:
        UsageError: one is wrong.
    """
    positions = [_position(one) for one in (start, end)]
    times = [_instant(one) for one in (since, until)]
    return Wanted(
        several(topic), tuple((one, one) for one in ledgers), positions[0], positions[1], times[0], times[1],
        producers=several(producer), keys=several(key), lateness=_lateness(allowed_lateness_seconds),
    )  # fmt: skip


def several(names: Names) -> tuple[str, ...]:
    """One or several names as several."""
    return (names,) if isinstance(names, str) else tuple(names)


def _position(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    try:
        return position_of(text)
    except ValueError:
        raise UsageError(f"{text!r} is not a position: write LEDGER:ENTRY, such as 22:3") from None


def _lateness(seconds: int) -> timedelta:
    if not 0 <= seconds <= MAX_LATENESS_SECONDS:
        raise UsageError(f"allowed_lateness_seconds {seconds} is not between 0 and {MAX_LATENESS_SECONDS}")
    return timedelta(seconds=seconds)


def _instant(time: Time | None) -> datetime | None:
    if time is None:
        return None
    if isinstance(time, str):
        try:
            return parse_instant(time)
        except ValueError as error:
            raise UsageError(f"{time!r}: {error}") from None
    if time.tzinfo is None:
        raise UsageError(f"{time!r} names no time zone: say datetime(..., tzinfo=timezone.utc)")
    return time.astimezone(UTC)
