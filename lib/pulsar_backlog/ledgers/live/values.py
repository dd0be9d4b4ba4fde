"""Where a live entry lies: a ledger of a topic stands for an object, an entry id for a place in it.

```
path      persistent://tenant/namespace/topic/<ledger id>
offset    entry id x 2^28, and the byte within the entry
```
So whatever reads entries again by path and place (chunks joined, exports, repairs) reads them from the broker.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from pulsar_backlog.ledgers.values import StoredObject

DEFAULT_RATE = 10 * 1024 * 1024
"""Bytes a second that are asked of a cluster: about what one busy consumer takes."""

MARKER, ABORTED = "live_marker", "live_aborted"
HELD_BACK, NOT_SENT, NOT_GIVEN = "live_held_back", "live_not_sent", "live_not_given"
HARMLESS = frozenset((MARKER, ABORTED))
"""What no consumer ever gets: nothing is missing where one of these lies."""

_PREFIX = "persistent://"
_PATH = re.compile(r"(persistent://[^/]+/[^/]+/.+)/(0|[1-9][0-9]{0,18})", re.DOTALL)
ENTRY_BITS = 28
"""An entry has less than 256 MiB; 2^35 entries of a ledger find room in a signed number of 64 bits."""
_TAG = re.compile(r"entries-(\d{1,11})")


@dataclass(frozen=True)
class Live:
    """How a live cluster is reached. It names where secrets lie and holds none, so it may travel to any worker.

    Attributes:
        service_url: of brokers.
        admin_url: web service of a broker.
        snapshot: folder with a snapshot, which says what topics hold; None where nothing is to be listed.
        max_rate: bytes a second that one process may read.
        token_file: file that holds the token, or None for the environment's.
        ca_file: certificates that the servers' must descend from.
        cert_file: our certificate.
        key_file: its key.
        timeout_seconds: how long one answer may take.
        token_without_tls: whether the token may travel in the clear.
        broker_hosts: globs on hosts that are the cluster's besides those that it lists.
    """

    service_url: str
    admin_url: str
    snapshot: str | None = None
    max_rate: int = DEFAULT_RATE
    token_file: str | None = None
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    timeout_seconds: float = 30.0
    token_without_tls: bool = False
    broker_hosts: tuple[str, ...] = ()

    def shared_by(self, readers: int) -> Live:
        """The same for each of several readers, which together keep to the rate."""
        return replace(self, max_rate=max(1, self.max_rate // max(1, readers)))


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


def is_live(path: str) -> bool:
    """Whether a path is that of a live ledger."""
    return path.startswith(_PREFIX)


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
