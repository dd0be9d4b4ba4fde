"""Sort what a listing names into offload attempts, other kinds of stored ledgers, and objects that are none.

```
<uuid>-ledger-<id>          data object           <id>-<uuid>/data, /index   MapFile of the filesystem offloader
<uuid>-ledger-<id>-index    its index             <id>-<uuid>/.data.crc      its checksums
<uuid>, <uuid>-index        streaming offload
```
Entry logs and journals of bookies: see `bookies/names.py`.

In a folder of any depth; a folder stands for a bucket, so data and index belong together only within one.

Source: https://github.com/apache/pulsar/blob/492eb456/tiered-storage/jcloud/src/main/java/org/apache/bookkeeper/mledger/offload/jcloud/impl/DataBlockUtils.java
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pulsar_backlog.errors import SourceError, UsageError
from pulsar_backlog.ledgers.bookies.names import role_of
from pulsar_backlog.ledgers.bookies.survey import Log
from pulsar_backlog.ledgers.copies import Pair
from pulsar_backlog.ledgers.live.values import is_live, live_ledger
from pulsar_backlog.ledgers.spill import CHECKSUMS, Attempt, Gathered, numbered, strays
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.stored_objects import StoredObject

MAX_EXAMPLES = 5
MAX_LEDGER_ID = 2**63 - 1

_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_LEDGER = "0|[1-9][0-9]{0,18}"
_JCLOUD = re.compile(rf"({_UUID})-ledger-({_LEDGER})(-index)?")
_MAP_FILE_FOLDER = re.compile(rf"(?:.*/)?({_LEDGER})-({_UUID})", re.DOTALL)
_MAP_FILE_PARTS = frozenset(("data", "index", CHECKSUMS, ".index.crc"))
_STREAMING = re.compile(rf"{_UUID}(-index)?")


@dataclass
class Tally:
    """Objects of one sort: how many, and a few names."""

    count: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, path: str) -> None:
        """Count one more."""
        self.count += 1
        if len(self.examples) < MAX_EXAMPLES:
            self.examples.append(path)


@dataclass
class Listing:
    """What a source holds by the names of its objects; none was opened.

    Attributes:
        pairs: offload attempts of the object-store offloader, in order; none where they were spilled.
        foreign: objects that are no ledger's.
        streams: objects of streaming offload, by their names.
        logs: entry logs and journals of bookies, by their names.
        indexes: files of their indexes.
        unreadable: parts that could not be listed.
        digest: of names, sizes and tags of all objects, whatever order the store lists them in. What cannot be listed
            is part of it, so that mending a permission is a change.
        spilled: objects of attempts that were written to files, because they are too many to be held.
        stored_bytes: of all objects together.
    """

    pairs: list[Pair] = field(default_factory=list)
    foreign: Tally = field(default_factory=Tally)
    streams: list[StoredObject] = field(default_factory=list)
    logs: list[Log] = field(default_factory=list)
    indexes: list[StoredObject] = field(default_factory=list)
    unreadable: list[SourceError] = field(default_factory=list)
    digest: str = ""
    spilled: int = 0
    stored_bytes: int = 0

    @property
    def has_attempts(self) -> bool:
        """Whether any object is one of an offload attempt."""
        return bool(self.pairs or self.spilled)


def take_listing(source: Source, spill: Path | None = None) -> Listing:
    """List the whole source, once; parts that cannot be listed are kept as errors.

    Args:
        source: what to list.
        spill: an empty folder for objects of attempts that are too many to be held; None holds them all.

    Raises:
        UsageError: the source does not exist, or nothing of it can be listed: then nothing may be called missing.
    """
    listing = Listing()
    gathered = Gathered(spill)
    total = 0
    for stored in source.list(listing.unreadable.append):
        total += _digest(f"{stored.path}\0{stored.size}\0{stored.etag}")
        listing.stored_bytes += stored.size
        folder, _, name = stored.path.rpartition("/")
        if live := live_ledger(stored.path):
            gathered.add((live[1], f"live-{stored.etag}", folder, "live"), "data", stored)
        elif named := offload_name(name):
            ledger_id, uuid, part = named
            gathered.add((ledger_id, uuid, folder, "jcloud"), part, stored)
        elif (key := _map_file(folder, name)) is not None:
            gathered.add(key, name, stored)
        else:
            _add_other(listing, folder, name, stored)
    gathered.close()
    if listing.unreadable and not (gathered.objects or listing.logs or listing.streams or listing.foreign.count):
        raise UsageError(f"{source.source} cannot be listed: {listing.unreadable[0]}")
    listing.spilled = gathered.objects if gathered.files else 0
    listing.pairs = numbered(gathered.objects_by_attempt)
    for stored in strays(gathered.objects_by_attempt):
        listing.foreign.add(stored.path)
    total += sum(_digest(f"{error.uri}\0{error.reason}") for error in listing.unreadable)
    listing.digest = f"{total % (1 << 256):064x}"
    return listing


def _add_other(listing: Listing, folder: str, name: str, stored: StoredObject) -> None:
    """Take what is no offloaded ledger by its name."""
    if _STREAMING.fullmatch(name):
        listing.streams.append(stored)
    elif (role := role_of(folder, name)) is None:
        listing.foreign.add(stored.path)
    elif role == "index":
        listing.indexes.append(stored)
    elif role != "other":
        listing.logs.append(Log(stored, role))


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode(errors="surrogateescape")).digest())


def _map_file(folder: str, name: str) -> Attempt | None:
    """The attempt that a file of a MapFile belongs to, or None."""
    match = _MAP_FILE_FOLDER.fullmatch(folder) if name in _MAP_FILE_PARTS else None
    return (int(match[1]), match[2], folder, "filesystem") if match and int(match[1]) <= MAX_LEDGER_ID else None


def offload_name(name: str) -> tuple[int, str, Literal["data", "index"]] | None:
    """Ledger id, UUID and role of an object of the object-store offloader, by its name; None for others."""
    match = _JCLOUD.fullmatch(name)
    if match is None or int(match[2]) > MAX_LEDGER_ID:
        return None
    return int(match[2]), match[1], "index" if match[3] else "data"


def kind_of(folder: str, name: str) -> str | None:
    """The kind of a ledger's data, by the name of the object that holds it; None where it is none of another kind."""
    if _map_file(folder, name):
        return "filesystem"
    if is_live(folder):
        return "live"
    return "streaming" if _STREAMING.fullmatch(name) else None


def printable(texts: Iterable[str]) -> tuple[str, ...]:
    """Names as they may be shown: control characters, line ends among them, are escaped."""
    return tuple("".join(c if c.isprintable() else ascii(c)[1:-1] for c in text) for text in texts)
