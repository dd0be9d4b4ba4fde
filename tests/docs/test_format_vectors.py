"""The vectors that docs/format.md prints are what the code reads."""

from __future__ import annotations

from pathlib import Path

import google_crc32c
import numpy as np
import pytest

from pulsar_backlog.ledgers.jcloud import decode_block_header, decode_index
from pulsar_backlog.ledgers.mapfile import kernel
from pulsar_backlog.ledgers.mapfile.header import BYTES_WRITABLE, decode_header, read_vint
from pulsar_backlog.wire.batch import read_batch
from pulsar_backlog.wire.codecs import decompress
from pulsar_backlog.wire.entry import Entry, decode_entry

PAGE = (Path(__file__).parents[2] / "docs" / "format.md").read_text()


@pytest.fixture(scope="module")
def vectors() -> dict[str, bytes]:
    block = PAGE.split("## Vectors", 1)[1].split("```", 2)[1]
    named = (line.split(None, 1) for line in block.strip().splitlines())
    return {name: bytes.fromhex(digits) for name, digits in named}


def payload(entry: Entry, data: bytes) -> bytes:
    return data[entry.layout.payload_offset :]


def test_entry(vectors: dict[str, bytes]) -> None:
    data = vectors["entry"]
    entry = decode_entry(data)
    assert (entry.metadata.producer_name, entry.metadata.sequence_id, entry.metadata.publish_time) == ("p", 0, 1000)
    assert (entry.broker, entry.checksum_state, payload(entry, data)) == (None, "valid", b"hi")


def test_entry_with_broker(vectors: dict[str, bytes]) -> None:
    data = vectors["entry-with-broker"]
    entry = decode_entry(data)
    assert entry.broker is not None
    assert (entry.broker.broker_timestamp, entry.broker.index) == (1000, 9)
    assert (entry.checksum_state, payload(entry, data)) == ("valid", b"hi")


def test_entry_of_a_batch(vectors: dict[str, bytes]) -> None:
    data = vectors["entry-of-a-batch"]
    entry = decode_entry(data)
    assert (entry.metadata.num_messages_in_batch, entry.checksum_state) == (3, "valid")
    members = list(read_batch(payload(entry, data), 3))
    assert [(m.partition_key, m.compacted_out, m.payload) for m in members] == [
        ("k1", None, b"a"),
        (None, True, b""),
        (None, None, b"ccc"),
    ]


def test_block_header(vectors: dict[str, bytes]) -> None:
    header = decode_block_header(vectors["block-header"] + bytes(100))
    assert header is not None
    assert (header.magic, header.header_length) == (0xFBDBABCB, 128)
    assert (header.block_length, header.first_entry_id) == (64 * 2**20, 0)


def test_index(vectors: dict[str, bytes]) -> None:
    index, faults = decode_index(vectors["index"])
    assert faults == ()
    assert index is not None
    assert index.metadata is not None
    assert (index.data_length, index.metadata.length_bytes, index.metadata.last_entry_id) == (142, 2, 0)
    assert [(e.first_entry_id, e.part_id, e.offset) for e in index.entries] == [(0, 1, 0)]


def test_java_zlib(vectors: dict[str, bytes]) -> None:
    assert decompress("ZLIB", vectors["java-zlib"], 23, 100) == b"hello hello hello hello"


def test_sequence_header(vectors: dict[str, bytes]) -> None:
    found = decode_header(vectors["sequence-header"], BYTES_WRITABLE)
    assert (found.compression, found.length, found.sync.hex()) == ("BLOCK", 138, "00112233445566778899aabbccddeeff")
    assert found.codec == "org.apache.hadoop.io.compress.DefaultCodec"


def test_sequence_record(vectors: dict[str, bytes]) -> None:
    data = np.frombuffer(vectors["sequence-record"], dtype=np.uint8)
    places, keys, starts, lengths = (np.zeros(2, dtype=np.int64) for _ in range(4))
    state = np.zeros(kernel.STATE_SIZE, dtype=np.int64)
    sync = np.zeros(16, dtype=np.uint8)
    kernel.walk_records(data, len(data), sync, 1000, state, places, keys, starts, lengths)
    assert (state[kernel.RECORDS], state[kernel.REASON]) == (1, kernel.END)
    assert (keys[0], data[starts[0] : starts[0] + lengths[0]].tobytes()) == (7, b"\0\0\0\2hi")


@pytest.mark.parametrize(("stored", "number"), [("90", -112), ("8f80", 128), ("8770", -113)])
def test_vints(stored: str, number: int) -> None:
    assert f"{stored} is {number}" in PAGE
    assert read_vint(bytes.fromhex(stored), 0, "") == (number, len(stored) // 2)


def test_checksum() -> None:
    assert f"{google_crc32c.value(b'123456789'):08x}" in PAGE


def test_every_vector_is_decoded_above(vectors: dict[str, bytes]) -> None:
    tests = {name.removeprefix("test_").replace("_", "-") for name in globals() if name.startswith("test_")}
    assert set(vectors) <= tests
