"""Encrypted messages of a real client, their entries as an offloader stores them, and plans to publish those again."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pulsar

from pulsar_backlog.repair.values import Action, AsStored, Message, StoredEntry
from pulsar_backlog.terms import Position
from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata
from tests.broker.conftest import Admin
from tests.broker.identity import encryption_keys
from tests.broker.process import Broker
from tests.broker.protocol import connected
from tests.broker.repairing import make_plan
from tests.ledgers.encoding import offload
from tests.ledgers.sources import put

Raw = tuple[Position, bytes]
"""Position and bytes of an entry, from its checksum on."""


@dataclass(frozen=True)
class Crypto:
    """A key pair: who has the public half encrypts, who has the private half reads."""

    public: Path
    private: Path

    @property
    def reader(self) -> pulsar.CryptoKeyReader:
        return pulsar.CryptoKeyReader(str(self.public), str(self.private))


def make_crypto(folder: Path) -> Crypto:
    folder.mkdir(exist_ok=True)
    return Crypto(*encryption_keys(folder))


def send(
    client: pulsar.Client, topic: str, crypto: Crypto, payload: bytes, chunked: bool = False, **fields: Any
) -> None:
    """One message of the real client, encrypted and compressed."""
    producer = client.create_producer(
        topic, encryption_key="k", crypto_key_reader=crypto.reader, batching_enabled=False,
        chunking_enabled=chunked, compression_type=pulsar.CompressionType.ZLib,
    )  # fmt: skip
    producer.send(payload, **fields)
    producer.close()


def send_batch(client: pulsar.Client, topic: str, crypto: Crypto, payloads: Sequence[bytes]) -> None:
    """Several messages of the real client in one encrypted entry."""
    producer = client.create_producer(
        topic, encryption_key="k", crypto_key_reader=crypto.reader, batching_enabled=True,
        batching_max_publish_delay_ms=500, compression_type=pulsar.CompressionType.LZ4,
    )  # fmt: skip
    for payload in payloads:
        producer.send_async(payload, lambda *_: None, properties={"of": "one"})
    producer.flush()
    producer.close()


def raw_of(broker: Broker, admin: Admin, topic: str) -> list[Raw]:
    """All entries of a topic, read by hand."""
    count = admin.get(topic, "internalStats")["numberOfEntries"]
    with connected(broker.service_url, broker.token_file.read_text()) as connection:
        return connection.entries(topic, count)


def parts_of(body: bytes) -> tuple[MessageMetadata, bytes]:
    """Metadata and payload of an entry that begins with its checksum."""
    assert body[:2] == b"\x0e\x01"
    (size,) = struct.unpack(">I", body[6:10])
    return MessageMetadata.FromString(body[10 : 10 + size]), body[10 + size :]


def stored(folder: Path, topic: str, entries: Sequence[Raw]) -> Path:
    """These entries, all of one ledger from its first on, as an offloader stores them; the folder of the objects."""
    tenant, namespace, name = topic.removeprefix("persistent://").split("/")
    assert [position[1] for position, _ in entries] == list(range(len(entries)))
    managed = f"{tenant}/{namespace}/persistent/{quote(name, safe='')}"
    put(folder, offload([body for _, body in entries], managed_ledger=managed), entries[0][0][0])
    return folder


def data_of(objects: Path) -> Path:
    """The only data object of a folder."""
    (path,) = (path for path in objects.iterdir() if not path.name.endswith("-index"))
    return path


def as_stored(objects: Path, entries: Sequence[Raw]) -> Message:
    """What a plan says of a message that is published as it is stored, found by its bytes."""
    path = data_of(objects)
    content = path.read_bytes()
    found = []
    for position, body in entries:
        assert content.count(body) == 1
        (crc,) = struct.unpack(">I", body[2:6])
        found.append(StoredEntry(position, path.name, content.index(body), len(body), crc))
    first, _ = parts_of(entries[0][1])
    return Message(
        original=entries[-1][0],
        sha256=None,
        size_bytes=sum(len(parts_of(body)[1]) for _, body in entries),
        original_uuid=first.uuid.decode() or None,
        was_encrypted=True,
        as_stored=AsStored(str(objects), tuple(found)),
    )


def plan_of(folder: Path, topic: str, message: Message) -> Path:
    return make_plan(folder, [Action(0, "republish", topic, "r", message=message)])
