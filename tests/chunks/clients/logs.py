"""Logs of chunks written as short texts, and consumers playing them."""

from __future__ import annotations

from typing import Any

from pulsar_backlog.chunks.clients.events import LogEntry
from pulsar_backlog.chunks.clients.journal import Journal
from pulsar_backlog.chunks.clients.session import Session
from pulsar_backlog.chunks.clients.settings import ClientSettings, Profile

SLICE = 1000
STORED_MS = 1_000_000
GAP_MS = 10
"""Time between two entries of a log."""
LATER_MS = STORED_MS + 10_000_000
"""When a consumer that catches up connects: all is old."""


def log(text: str, n: int = 3, **changes: Any) -> list[LogEntry]:
    """Entries of ledger 1 from 0 on: `A0 A1 A2`, `.` is a plain message; uuids are the letters.

    A small letter is the same uuid at another publish time. `A1/4` says another count, `A1:99` another length. Other
    fields are changed on all chunks.
    """
    return [_entry(word, entry_id, n, changes) for entry_id, word in enumerate(text.split())]


def _entry(word: str, entry_id: int, n: int, changes: dict[str, Any]) -> LogEntry:
    stored_ms = STORED_MS + entry_id * GAP_MS
    if word == ".":
        plain = (stored_ms, None, None, 0, 4, False, "valid", None, 4, "fits", False)
        return LogEntry((1, entry_id), 0, "", ("", stored_ms), *plain)
    word, _, length = word.partition(":")
    word, _, count = word.partition("/")
    letter, chunk_id = word[0], int(word[1:])
    publish_ms = STORED_MS - (1 if letter.isupper() else 2)
    entry = LogEntry(
        (1, entry_id), 0, letter.upper(), (letter.upper(), publish_ms), stored_ms, chunk_id, int(count or n), n * SLICE,
        int(length or SLICE), False, "valid", None, n * SLICE, "fits", False,
    )  # fmt: skip
    return entry._replace(**changes)


def settings(profile: Profile, **given: Any) -> ClientSettings:
    """Settings of a client that catches up, unless told otherwise."""
    return ClientSettings(profile, **given)


def consume(entries: list[LogEntry], given: ClientSettings, hold_ms: int = 1_000) -> tuple[Session, Journal]:
    """A consumer reads the log and stays connected for a while after its end."""
    journal = Journal()
    connected_ms = 0 if given.live else LATER_MS
    session = Session(given, journal, connected_ms)
    for entry in entries:
        session.offer(entry)
    session.finish(max(connected_ms, entries[-1].stored_ms) + hold_ms)
    return session, journal


def delivered(journal: Journal) -> list[list[int]]:
    """Entry ids of each delivery."""
    return [[entry_id for _ledger, entry_id in delivery.positions] for delivery in journal.deliveries]


def acked(journal: Journal, entries: list[LogEntry]) -> str:
    """One character per entry: `#` acknowledged, `.` not."""
    return "".join("#" if entry.position in journal.acknowledged else "." for entry in entries)
