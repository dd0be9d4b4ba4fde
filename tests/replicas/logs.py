"""Logs of two clusters, written entry by entry for tests, and audited."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote_plus

from tests.ledgers.encoding import offload
from tests.ledgers.sources import put
from tests.wire.encode import entry, number, pair, run

START_MS = 1_763_000_000_000
REPLICATED = {"__MSG_PROP_REPL_SOURCE_POSITION": "7:7"}


@dataclass(frozen=True)
class Message:
    """What a producer sends."""

    sequence_id: int
    payload: bytes = b""
    producer: str = "eu-1"
    time_ms: int = 0
    properties: Mapping[str, str] = field(default_factory=dict)
    replicated_from: str | None = None
    replicate_to: tuple[str, ...] = ()
    own_id: bool = True
    """Whether it has its sequence id as a member of a batch too."""

    @property
    def at_ms(self) -> int:
        return self.time_ms or START_MS + self.sequence_id * 1000


def sent(count: int, **values: object) -> list[Message]:
    """Messages of one producer, one a second."""
    return [Message(i, b"payload %d" % i, **values) for i in range(count)]  # type: ignore[arg-type]


def replicated(messages: Iterable[Message], cluster: str = "eu") -> list[Message]:
    """The same as a replicator publishes them."""
    return [replace(one, replicated_from=cluster, properties={**one.properties, **REPLICATED}) for one in messages]


def _shared(one: Message) -> bytes:
    head = run(1, one.producer.encode()) + number(2, one.sequence_id) + number(3, one.at_ms)
    if one.replicated_from is not None:
        head += run(5, one.replicated_from.encode())
    return head + b"".join(run(7, name.encode()) for name in one.replicate_to)


def _properties(properties: Mapping[str, str]) -> bytes:
    return b"".join(pair(key.encode(), value.encode()) for key, value in properties.items())


def single(one: Message, *, compressed: bool = False) -> bytes:
    """An entry that is one message."""
    payload = zlib.compress(one.payload) if compressed else one.payload
    codec = number(8, 2) + number(9, len(one.payload)) if compressed else b""
    return entry(_shared(one) + _properties(one.properties) + codec, payload)


def batch(messages: Sequence[Message]) -> bytes:
    """An entry that is a batch; the replicator's property stands in the metadata of the entry."""
    body = b""
    for one in messages:
        own = {key: value for key, value in one.properties.items() if key not in REPLICATED}
        ids = number(8, one.sequence_id) if one.own_id else b""
        metadata = b"".join(run(1, run(1, key.encode()) + run(2, value.encode())) for key, value in own.items())
        metadata += number(3, len(one.payload)) + ids
        body += len(metadata).to_bytes(4) + metadata + one.payload
    last = number(24, messages[-1].sequence_id)
    return entry(_shared(messages[0]) + number(9, len(body)) + number(11, len(messages)) + last, body)


def chunks(one: Message, count: int) -> list[bytes]:
    """Entries that are the chunks of one message."""
    size = -(-len(one.payload) // count)
    made = []
    for chunk_id in range(count):
        part = one.payload[chunk_id * size : (chunk_id + 1) * size]
        uuid = f"{one.producer}-{one.sequence_id}".encode()
        fields = run(26, uuid) + number(27, count) + number(28, len(one.payload)) + number(29, chunk_id)
        made.append(entry(_shared(one) + _properties(one.properties) + number(9, len(one.payload)) + fields, part))
    return made


def damaged(stored: bytes) -> bytes:
    """The entry with its last byte changed, so that its checksum does not agree."""
    return stored[:-1] + bytes([stored[-1] ^ 0xFF])


def store(folder: Path, topics: Mapping[str, Sequence[Sequence[bytes]]], first_ledger: int = 10) -> Path:
    """Ledgers of topics `persistent://shop/eu/NAME`, each a list of entries."""
    ledger_id = first_ledger
    for name, ledgers in topics.items():
        for entries in ledgers:
            put(folder, offload(entries, managed_ledger=f"shop/eu/persistent/{quote_plus(name)}"), ledger_id)
            ledger_id += 1
    return folder
