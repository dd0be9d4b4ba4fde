"""What a producer sends, before a broker sees it, and the keys that it encrypts with."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pulsar_backlog.errors import UsageError
from pulsar_backlog.protocol.addresses import ClientError
from pulsar_backlog.protocol.connection import Connection
from pulsar_backlog.repair.broker.client import Keys, read_keys
from pulsar_backlog.repair.broker.producer import Producer
from pulsar_backlog.wire.encryption import KeyRing, read_private_keys
from pulsar_backlog.wire.metadata import EncryptionKey
from pulsar_backlog.wire.proto.pulsar_messages_pb2 import MessageMetadata
from tests.broker.identity import encryption_keys


def producer(keys: Keys | None = None, room: int = 2000) -> Producer:
    """One that is connected to nothing: nothing is sent."""
    connection: Any = SimpleNamespace(max_message_bytes=room)
    return Producer(cast(Connection, connection), "persistent://t/n/one", "p", -1, keys)


def metadata(**fields: Any) -> MessageMetadata:
    return MessageMetadata(producer_name=b"p", sequence_id=3, publish_time=1, **fields)


def test_an_entry_that_cannot_be_cut_may_be_a_little_larger_and_no_more() -> None:
    head = metadata()
    fits = [(head, b""), (head, bytes(2000 + 9 * 1024 - head.ByteSize()))]
    assert producer().as_stored(fits) == fits
    with pytest.raises(ClientError, match="larger than the broker accepts"):
        producer().as_stored([fits[0], (head, fits[1][1] + b"x")])


def test_what_has_no_room_is_told_before_anything_is_sent() -> None:
    with pytest.raises(ClientError, match="larger than the broker accepts"):
        producer().entries(metadata(partition_key=bytes(2000)), b"x")  # not only when it is asked for the first entry


def test_several_keys_open_each_chunk(tmp_path: Path) -> None:
    pairs = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        pairs.append(encryption_keys(tmp_path / name))
    keys = read_keys(["one", "two"], [public for public, _ in pairs], pairs[0][1])
    payload = bytes(range(256)) * 12
    entries = list(producer(keys).entries(metadata(), payload))
    assert len(entries) == 3
    assert [head.chunk_id for head, _ in entries] == [0, 1, 2]
    assert len({head.encryption_param for head, _ in entries}) == 3  # a vector is used once
    for (_, private), name in zip(pairs, ("one", "two"), strict=True):
        ring = KeyRing({name: read_private_keys(private.read_bytes())})
        opened = b""
        for head, part in entries:
            wrapped = [EncryptionKey(one.key.decode(), one.value, {}) for one in head.encryption_keys]
            assert [one.key for one in wrapped] == ["one", "two"]
            opened += ring.decrypt(part, wrapped, head.encryption_param)
        assert opened == payload


@pytest.mark.parametrize(
    ("names", "publics", "with_private"),
    [
        (["one"], 0, True),
        ([], 1, True),
        (["one", "two"], 1, True),
        (["one"], 2, True),
        (["one", "one"], 2, True),  # which of them?
        (["one"], 1, False),
        ([], 0, True),
    ],
)
def test_keys_that_do_not_go_together(names: list[str], publics: int, with_private: bool, tmp_path: Path) -> None:
    public, private = encryption_keys(tmp_path)
    with pytest.raises(UsageError, match="in pairs"):
        read_keys(names, [public] * publics, private if with_private else None)
    assert read_keys([], [], None) is None


def test_a_file_that_is_no_public_key(tmp_path: Path) -> None:
    _, private = encryption_keys(tmp_path)
    with pytest.raises(UsageError, match="this is not an RSA public key in a PEM file"):
        read_keys(["one"], [private], private)
    with pytest.raises(UsageError, match="No such file"):
        read_keys(["one"], [tmp_path / "nothing"], private)
