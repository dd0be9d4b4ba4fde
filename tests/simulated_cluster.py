"""A cluster that lives night after night: small ledgers as an offloader stores them, and what admin JSON says of them.

Bytes by tests/wire/encode.py and tests/ledgers/encoding.py, with no code of the reader. The same calls write the same
files, but for times that nobody reads.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote
from uuid import UUID

from tests.ledgers.encoding import offload
from tests.wire.encode import entry, number, run

TENANT, NAMESPACE = "sim", "nights"
PUBLISHED_MS = 1_700_000_000_000
CHUNK_BYTES = 20

Range = tuple[tuple[int, int], tuple[int, int]]


def plain(producer: str, sequence: int, at_ms: int) -> bytes:
    """An entry with one message."""
    metadata = run(1, producer.encode()) + number(2, sequence) + number(3, at_ms)
    return entry(metadata, b"x" * CHUNK_BYTES)


def chunk(producer: str, sequence: int, at_ms: int, chunk_id: int, chunks: int) -> bytes:
    """An entry with a chunk; its message has the uuid of Java's client."""
    ours = run(26, f"{producer}-{sequence}".encode()) + number(27, chunks) + number(28, chunks * CHUNK_BYTES)
    metadata = run(1, producer.encode()) + number(2, sequence) + number(3, at_ms) + number(9, chunks * CHUNK_BYTES)
    return entry(metadata + ours + number(29, chunk_id), b"x" * CHUNK_BYTES)


@dataclass
class Cursor:
    """Where a subscription is: everything up to `mark_delete` (inclusive) is acknowledged, and the ranges after it."""

    mark_delete: tuple[int, int]
    ranges: list[Range] = field(default_factory=list)


@dataclass
class Topic:
    """A topic with its stored ledgers, in order: id -> how many entries and bytes."""

    name: str
    ledgers: dict[int, tuple[int, int]] = field(default_factory=dict)
    cursors: dict[str, Cursor] = field(default_factory=dict)

    @property
    def open_ledger(self) -> int:
        """Id of the ledger that is written to; nothing of it is stored."""
        return 1_000_000_000 + zlib.crc32(self.name.encode())

    @property
    def full_name(self) -> str:
        """As tables have it."""
        return f"persistent://{TENANT}/{NAMESPACE}/{self.name}"


@dataclass
class Cluster:
    """Folders `objects` and `admin` of a place, and what lies there."""

    folder: Path
    next_ledger: int = 100
    topics: dict[str, Topic] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path in (self.objects, self.admin):
            path.mkdir(parents=True, exist_ok=True)

    @property
    def objects(self) -> Path:
        """The source."""
        return self.folder / "objects"

    @property
    def admin(self) -> Path:
        """Saved admin JSON."""
        return self.folder / "admin"

    def topic(self, name: str) -> Topic:
        """A topic, made where there is none."""
        return self.topics.setdefault(name, Topic(name))

    def append(self, topic: Topic, bodies: Sequence[bytes], ledger_id: int | None = None, attempt: int = 0) -> int:
        """Offload a ledger with these entries; gives its id."""
        if ledger_id is None:
            ledger_id = self.next_ledger
            self.next_ledger += 1
        stored = offload(bodies, managed_ledger=f"{TENANT}/{NAMESPACE}/persistent/{topic.name}")
        name = f"{_uuid(ledger_id, attempt)}-ledger-{ledger_id}"
        (self.objects / name).write_bytes(stored.data)
        (self.objects / f"{name}-index").write_bytes(stored.index)
        topic.ledgers[ledger_id] = (len(bodies), sum(map(len, bodies)))
        return ledger_id

    def trim(self, topic: Topic, ledger_id: int) -> None:
        """Delete a ledger's objects, and forget it."""
        for path in self._objects_of(ledger_id):
            path.unlink()
        del topic.ledgers[ledger_id]

    def offload_again(self, topic: Topic, ledger_id: int, bodies: Sequence[bytes]) -> None:
        """Another attempt replaces the ledger's objects."""
        self.trim(topic, ledger_id)
        self.append(topic, bodies, ledger_id, attempt=1)
        topic.ledgers = dict(sorted(topic.ledgers.items()))

    def delete(self, topic: Topic) -> None:
        """Delete a topic with its ledgers and subscriptions."""
        for ledger_id in list(topic.ledgers):
            self.trim(topic, ledger_id)
        del self.topics[topic.name]
        for path in self.documents(topic):
            path.unlink(missing_ok=True)

    def save(self, topics: Iterable[Topic] | None = None) -> None:
        """Save what the admin API says of topics, of all where none are named."""
        for topic in self.topics.values() if topics is None else topics:
            internal, info, stats = self.documents(topic)
            internal.write_text(json.dumps(_internal_stats(topic)))
            info.write_text(json.dumps(_internal_info(topic)))
            subscriptions = {name: {"type": "Shared", "consumers": []} for name in topic.cursors}
            stats.write_text(json.dumps({"publishers": [], "subscriptions": subscriptions}))

    def _objects_of(self, ledger_id: int) -> Iterator[Path]:
        for attempt in (0, 1):
            for end in ("", "-index"):
                path = self.objects / f"{_uuid(ledger_id, attempt)}-ledger-{ledger_id}{end}"
                if path.exists():
                    yield path

    def documents(self, topic: Topic) -> tuple[Path, Path, Path]:
        start = f"{TENANT}__{NAMESPACE}__{quote(topic.name)}"
        ends = ("internalStats", "internal-info", "stats")
        internal, info, stats = (self.admin / f"{start}.{end}.json" for end in ends)
        return internal, info, stats


def _uuid(ledger_id: int, attempt: int) -> UUID:
    return UUID(int=(ledger_id << 32) + attempt + (4 << 76) + (8 << 60))


def _internal_stats(topic: Topic) -> dict[str, object]:
    ledgers = [
        {"ledgerId": id_, "entries": entries, "size": size, "offloaded": True}
        for id_, (entries, size) in topic.ledgers.items()
    ]
    last = max(topic.ledgers, default=topic.open_ledger)
    return {
        "numberOfEntries": sum(entries for entries, _ in topic.ledgers.values()),
        "totalSize": sum(size for _, size in topic.ledgers.values()),
        "currentLedgerEntries": 0,
        "currentLedgerSize": 0,
        "lastConfirmedEntry": f"{last}:{topic.ledgers.get(last, (0, 0))[0] - 1}",
        "state": "LedgerOpened",
        "ledgers": [*ledgers, {"ledgerId": topic.open_ledger, "entries": 0, "size": 0, "offloaded": False}],
        "cursors": {
            name: {
                "markDeletePosition": "{}:{}".format(*cursor.mark_delete),
                "readPosition": f"{last}:0",
                "individuallyDeletedMessages": _ranges(cursor.ranges),
                "state": "Open",
            }
            for name, cursor in topic.cursors.items()
        },
    }


def _ranges(ranges: Sequence[Range]) -> str:
    """As Guava prints them: open below, closed above."""
    return "[" + ",".join("({}:{}..{}:{}]".format(*low, *high) for low, high in ranges) + "]"


def _internal_info(topic: Topic) -> dict[str, object]:
    return {
        "version": 1,
        "ledgers": [
            {
                "ledgerId": id_, "entries": entries, "size": size, "timestamp": PUBLISHED_MS + id_, "isOffloaded": True,
                "offloadedContextUuid": str(_uuid(id_, 0)),
            }
            for id_, (entries, size) in topic.ledgers.items()
        ],
        "cursors": {},
    }  # fmt: skip
