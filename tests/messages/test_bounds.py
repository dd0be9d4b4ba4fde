"""What a message may cost: bytes on the disk, memory of a worker, and where there is no room."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import cramjam
import pytest

from pulsar_backlog.messages.keys import KeySource
from pulsar_backlog.messages.payloads import RESERVE_BYTES, PayloadStore
from pulsar_backlog.messages.ranges import RangeReader
from pulsar_backlog.messages.rebuild import ChunkedMessage, Copy, Rebuilt, rebuild_message
from pulsar_backlog.wire.entry import decode_entry
from tests.messages.stored import reading
from tests.wire.encode import entry, number, run

MIB = 1 << 20
CODECS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "NONE": (0, bytes),
    "LZ4": (1, lambda data: bytes(cramjam.lz4.compress_block(data, store_size=False))),
    "ZLIB": (2, zlib.compress),
    "ZSTD": (3, lambda data: bytes(cramjam.zstd.compress(data))),
    "SNAPPY": (4, lambda data: bytes(cramjam.snappy.compress_raw(data))),
}


def stored(folder: Path, codec: str, payload: bytes, claim: int) -> ChunkedMessage:
    """A chunked message of one chunk that lies in an object."""
    kind, compress = CODECS[codec]
    packed = compress(payload)
    head = run(1, b"p") + number(2, 7) + number(3, 1000) + number(8, kind) + number(9, claim) + run(26, b"p-7")
    body = entry(head + number(27, 1) + number(28, len(packed)) + number(29, 0), packed)
    (folder / "object").write_bytes(body)
    copy = Copy(1, 0, "object", 0, len(body), decode_entry(body).layout.payload_offset)
    return ChunkedMessage("p-7", 1000, len(packed), claim, codec, False, ((copy,),))


def rebuilt(message: ChunkedMessage, folder: Path, max_message_bytes: int, inline: int = 0) -> Rebuilt:
    store = PayloadStore(str(folder / "to"), inline, max_message_bytes)
    return rebuild_message(message, RangeReader(reading(folder)), KeySource().ring(), store)


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """The system refuses to make any file longer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("codec", CODECS)
def test_a_message_that_says_it_is_larger_is_not_begun(codec: str, tmp_path: Path) -> None:
    """A few bytes that claim 4 GiB: nothing is read, nothing is written."""
    message = stored(tmp_path, codec, b"x" * 100, 0xFFFFFFFF)
    (tmp_path / "object").unlink()
    result = rebuilt(message, tmp_path, 1 << 30)
    assert (result.outcome, result.payload, result.verified) == ("too_large", None, False)
    assert "4294967295 bytes" in result.reason
    assert "--max-message-bytes than 1073741824" in result.reason
    assert [copy.entry_id for copy in result.used] == [0]
    assert not (tmp_path / "to").exists()


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("claim", [1000, 5 * MIB])
def test_no_more_is_written_than_may_be(codec: str, claim: int, tmp_path: Path) -> None:
    """It holds 32 MiB, whatever it says; 4 MiB may be."""
    message = stored(tmp_path, codec, bytes(32 * MIB), claim)
    with files_of_at_most(4 * MIB):
        result = rebuilt(message, tmp_path, 4 * MIB)
    assert (result.outcome, result.payload) == ("too_large", None)
    assert "--max-message-bytes than 4194304" in result.reason
    assert not [path for path in (tmp_path / "to").rglob("*") if path.is_file()]


@pytest.mark.parametrize("codec", CODECS)
def test_a_message_of_just_that_size_is_exported(codec: str, tmp_path: Path) -> None:
    payload = os.urandom(1000) * 1000
    message = stored(tmp_path, codec, payload, len(payload))
    bound = max(len(payload), message.total_bytes)
    result = rebuilt(message, tmp_path, bound)
    assert result.verified
    assert result.payload is not None
    assert rebuilt(message, tmp_path, bound - 1).outcome == "too_large"


def test_a_disk_that_is_full_costs_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    message = stored(tmp_path, "LZ4", bytes(8 * MIB), 8 * MIB)
    free = RESERVE_BYTES + 8 * MIB - 1
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    result = rebuilt(message, tmp_path, 1 << 30)
    assert (result.outcome, result.payload, result.verified) == ("no_room", None, False)
    assert str(tmp_path / "to") in result.reason
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "object"]
    free += 1
    assert rebuilt(message, tmp_path, 1 << 30).verified
    free = 0
    assert rebuilt(message, tmp_path, 1 << 30, inline=16 * MIB).verified  # it needs none


def test_a_disk_that_fills_up_meanwhile_costs_a_row(tmp_path: Path) -> None:
    message = stored(tmp_path, "ZSTD", bytes(8 * MIB), 8 * MIB)
    with files_of_at_most(3 * MIB):
        result = rebuilt(message, tmp_path, 1 << 30)
    assert (result.outcome, result.payload) == ("no_room", None)
    assert not [path for path in (tmp_path / "to").rglob("*") if path.is_file()]


METADATA = """
import json, resource, struct
import numpy as np
from pulsar_backlog.wire.columns import decode_entries

def grown(size):
    metadata = b"\\x0a\\x01p\\x10\\x07\\x18\\x00" + b"\\xd2\\x01" + varint(size) + bytes(size)
    body = np.frombuffer(struct.pack(">I", len(metadata)) + metadata, dtype=np.uint8)
    del metadata
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    decoded = decode_entries(body, np.array([0]), np.array([len(body)]))
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10, [e.code for _, e in decoded.errors]

def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])

grown(1000)
print(json.dumps([grown(200 << 20), grown((16 << 20) - 100)[1]]))
"""


def test_metadata_that_no_broker_would_have_taken_costs_nothing() -> None:
    lib = str(Path(__file__).parents[2] / "lib")
    done = subprocess.run([sys.executable, "-c", METADATA], capture_output=True, check=True, env={"PYTHONPATH": lib})
    (grown_mib, codes), other = json.loads(done.stdout)
    assert codes == ["metadata_too_large"]
    assert grown_mib < 20
    assert other == []
