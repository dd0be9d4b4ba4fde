"""Words and numbers for people: states and flags explained, counts, bytes, times."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

STATES: dict[str, str] = {
    "whole": "every chunk is stored, in order",
    "out_of_order": "every chunk is stored, but out of order",
    "orphan_prefix": "its first chunks are stored, its end is not",
    "headless": "its first chunk is not stored",
    "gap": "chunks in the middle are missing",
    "in_flight": "incomplete, but may still be arriving",
    "malformed": "its chunk numbers or uuid are invalid",
}
"""What a state means."""

STATE_ORDER = ("gap", "headless", "orphan_prefix", "malformed", "out_of_order", "in_flight", "whole")
"""States as charts and tables list them, worst first."""

FLAGS: dict[str, str] = {
    "repeated_prefix": "resent from the first chunk before it was complete",
    "overlap": "some chunks stored twice before it was complete",
    "tail_residue": "later chunks stored again after it was complete",
    "prefix_residue": "first chunks stored again after it was complete",
    "whole_duplicate": "stored whole more than once",
    "resend_residue": "the message was resent and is stored whole",
    "uuid_reused": "another send carries the same uuid",
    "mixed_with_another_publication": "clients may join it with another message",
    "metadata_conflict": "its chunks contradict each other",
    "size_fault": "not cut evenly, or an empty chunk",
    "sizes_lie": "its sizes or counts contradict the bytes",
    "corrupt_copy": "a copy of a chunk fails its checksum",
    "copies_differ": "two copies of a chunk hold different bytes",
    "ledger_span": "lies in more than one ledger",
    "decode_fault": "its payload cannot be decompressed",
}
"""What a flag means. Flags that are not here are shown as they are."""

LIES: tuple[tuple[str, str, str, str], ...] = (
    ("total too large; an empty last chunk; one chunk only", "delivered", "delivered", "delivered"),
    ("total too small", "reconnects for ever", "process dies", "delivered"),
    ("count shrinks inside a message", "reconnects for ever", "first count wins", "panics"),
    ("count grows inside a message", "reconnects for ever", "delivered short", "panics"),
    ("wrong uncompressed size, compressed", "short, padded, or reconnects for ever, by codec",
        "short, padded, lost, or process dies", "usually right"),
    ("batch count on chunks (`malformed`)", "nothing, not even what follows", "each slice as a message",
        "first slice dropped"),
)  # fmt: skip
"""What wrong sizes did to Java, Python and Go, as docs/verdicts.md has it."""

SURENESS: dict[str, str] = {"certain": "certain", "likely": "likely", "cannot_tell": "cannot tell"}

SEVERITIES: dict[str, tuple[int, str]] = {"error": (0, "Error"), "warning": (1, "Warning"), "info": (2, "Note")}

EXIT_CODES: dict[int, str] = {
    0: "clean",
    1: "findings at or above --fail-on",
    2: "wrong usage or configuration",
    3: "the program failed",
    4: "incomplete: something could not be read, or was left unread as asked",
    99: "nothing new to do since the last audit",
}

_MS = timedelta(milliseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def severity_rank(severity: str) -> int:
    """0 for the worst severity."""
    return SEVERITIES.get(severity, (3, ""))[0]


def flag_words(flag: str) -> str:
    """A flag in words."""
    return FLAGS.get(flag, "not known to this version")


def natural(name: str) -> tuple[tuple[int, str], ...]:
    """Orders names by their numbers: `t2` before `t10`.

    >>> sorted(["t10", "t2", "t"], key=natural)
    ['t', 't2', 't10']
    """
    parts = re.split(r"([0-9]+)", name)
    # A number is as large as it is long, without its zeros: nobody's name is turned into an integer.
    return tuple((len(part.lstrip("0")) if at % 2 else -1, part) for at, part in enumerate(parts))


def spaced(name: str) -> str:
    """A snake-case name with spaces."""
    return name.replace("_", " ")


def byte_size(size_bytes: int) -> str:
    """Bytes in the largest binary unit below them: `999 B`, `1.5 KiB`."""
    if abs(size_bytes) < 1024:
        return f"{size_bytes:,} B"
    size = float(size_bytes)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        size /= 1024
        if abs(size) < 1023.95 or unit == "TiB":
            return f"{size:,.1f} {unit}"
    raise AssertionError("the last unit takes all sizes")


def utc_time(time_ms: int | None) -> str:
    """Milliseconds since 1970 as UTC text; the number itself where no calendar reaches."""
    if time_ms is None:
        return "unknown"
    try:
        moment = _EPOCH + time_ms * _MS
    except OverflowError:
        return f"{time_ms} ms (outside the calendar)"
    millis = f".{moment.microsecond // 1000:03d}" if moment.microsecond else ""
    return f"{moment.strftime('%Y-%m-%d %H:%M:%S')}{millis} UTC"


def duration(span_ms: int) -> str:
    """A span of time in at most two units: `250 ms`, `3.2 s`, `4 min 5 s`, `2 h 10 min`, `3 d 4 h`."""
    if span_ms < 1000:
        return f"{span_ms} ms"
    if span_ms < 60_000:
        return f"{span_ms / 1000:.3g} s"
    seconds = span_ms // 1000
    for big, big_name, small, small_name in (
        (86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"),
    ):  # fmt: skip
        if seconds >= big:
            rest = seconds % big // small
            return f"{seconds // big} {big_name}" + (f" {rest} {small_name}" if rest else "")
    raise AssertionError("a minute or more fits one of the units")


def position(ledger_id: int | None, entry_id: int | None) -> str | None:
    """`ledger:entry`, or None when either is unknown."""
    return None if ledger_id is None or entry_id is None else f"{ledger_id}:{entry_id}"
