"""Where a live entry lies: a ledger of a topic stands for an object, an entry id for a place in it.

```
path      persistent://tenant/namespace/topic/<ledger id>, or segment://tenant/namespace/topic/<segment>/<ledger id>
offset    entry id x 2^28, and the byte within the entry
```
So whatever reads entries again by path and place (chunks joined, exports, repairs) reads them from the broker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pulsar_backlog.ledgers.stored_objects import StoredObject
from pulsar_backlog.wire.arrays import Bytes, Int64s
from pulsar_backlog.wire.names import SEGMENT_SCHEME

MARKER, ABORTED = "live_marker", "live_aborted"
HELD_BACK, NOT_SENT, NOT_GIVEN = "live_held_back", "live_not_sent", "live_not_given"

_PREFIXES = ("persistent://", SEGMENT_SCHEME)
_PATH = re.compile(r"((?:persistent|segment)://[^/]+/[^/]+/.+)/(0|[1-9][0-9]{0,18})", re.DOTALL)
ENTRY_BITS = 28
"""An entry has less than 256 MiB; 2^35 entries of a ledger find room in a signed number of 64 bits."""
_TAG = re.compile(r"entries-(\d{1,11})")


@dataclass(frozen=True)
class Hidden:
    """An entry that the broker did not send.

    Attributes:
        entry_id: its id.
        code: why, one of the codes above.
        found: the same in words.
    """

    entry_id: int
    code: str
    found: str


@dataclass(frozen=True)
class Sent:
    """Entries of one ledger whose ids follow one another, as the broker sent them.

    Attributes:
        first: id of the first of them.
        buffer: holds them.
        offset: first byte of each in it.
        length: bytes of each.
    """

    first: int
    buffer: Bytes
    offset: Int64s
    length: Int64s

    def __len__(self) -> int:
        return len(self.offset)

    def each(self) -> Iterator[tuple[int, bytes]]:
        """Ids and bytes."""
        for number, (at, length) in enumerate(zip(self.offset.tolist(), self.length.tolist(), strict=True)):
            yield self.first + number, self.buffer[at : at + length].tobytes()


def is_live(path: str) -> bool:
    """Whether a path is that of a live ledger."""
    return path.startswith(_PREFIXES)


def live_ledger(path: str) -> tuple[str, int] | None:
    """Full topic name and ledger id of a live ledger's path; None of another."""
    match = _PATH.fullmatch(path)
    return (match[1], int(match[2])) if match else None


def stored_ledger(topic: str, ledger_id: int, entries: int, size: int) -> StoredObject:
    """A live ledger as an object; `size` is what the broker says that its entries have together."""
    return StoredObject(f"{topic}/{ledger_id}", size, f"entries-{entries}")


def entries_of(stored: StoredObject) -> int:
    """How many entries of a live ledger were confirmed when it was listed."""
    match = _TAG.fullmatch(stored.etag or "")
    return int(match[1]) if match else 0


def address_of(entry_id: int) -> int:
    """The place of an entry in its ledger."""
    return entry_id << ENTRY_BITS


def entry_at(offset: int) -> tuple[int, int]:
    """The entry that a place is in, and the byte within it."""
    return offset >> ENTRY_BITS, offset & ((1 << ENTRY_BITS) - 1)
