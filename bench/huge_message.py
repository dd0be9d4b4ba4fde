"""One chunked message of any size, written as brokers store it, and the memory that rebuilding it takes.

    python -m bench.huge_message --codec LZ4 --mib 1024

The message is a unit of bytes again and again, so that its hash is known without holding it. Its LZ4 and Snappy blocks
are written by hand: their encoders want everything at once.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import pickle
import random
import resource
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
import pyarrow as pa

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.messages.keys import KeySource
from pulsar_backlog.messages.payloads import PayloadStore
from pulsar_backlog.messages.ranges import RangeReader
from pulsar_backlog.messages.rebuild import ChunkedMessage, Copy, rebuild_message
from pulsar_backlog.wire.jit import crc32c
from pulsar_backlog.wire.raw_blocks import lz4_pieces, snappy_pieces

CODECS = ("NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY")
CHUNK_BYTES = 5 * 1024 * 1024
LITERALS = random.Random(7).randbytes(40_000)  # noqa: S311 - not a secret
UNIT = LITERALS * 2
ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Written:
    """A message in a file, and what must come out of it."""

    message: ChunkedMessage
    sha256: str


def write_message(folder: Path, codec: str, size_bytes: int, chunk_bytes: int = CHUNK_BYTES) -> Written:
    """Write a message of at least `size_bytes` to the file `object`, as entries of one publication."""
    units = -(-size_bytes // len(UNIT))
    path = folder / "object"
    total = sum(map(len, _compressed(codec, units)))
    count = -(-total // chunk_bytes)
    fields = _field(1, b"p") + _field(2, 0) + _field(3, 1000) + _field(8, CODECS.index(codec))
    fields += _field(9, units * len(UNIT)) + _field(26, b"p-0") + _field(27, count) + _field(28, total)
    copies = []
    offset = 0
    with path.open("wb") as file:
        for chunk_id, payload in enumerate(_cut(_compressed(codec, units), chunk_bytes)):
            metadata = fields + _field(29, chunk_id)
            covered = struct.pack(">I", len(metadata)) + metadata + payload
            entry = b"\x0e\x01" + struct.pack(">I", google_crc32c.value(covered)) + covered
            file.write(entry)
            copies.append((Copy(1, chunk_id, path.name, offset, len(entry), 10 + len(metadata)),))
            offset += len(entry)
    digest = hashlib.sha256()
    for _ in range(units):
        digest.update(UNIT)
    compression = None if codec == "NONE" else codec
    message = ChunkedMessage("p-0", 1000, total, units * len(UNIT), compression, False, tuple(copies))
    return Written(message, digest.hexdigest())


def _compressed(codec: str, units: int) -> Iterator[bytes]:
    if codec == "NONE":
        yield from (UNIT for _ in range(units))
    elif codec == "LZ4":
        more = b"\xff" * ((len(LITERALS) - 15) // 255) + bytes([(len(LITERALS) - 15) % 255])
        longer = b"\xff" * ((len(LITERALS) - 19) // 255) + bytes([(len(LITERALS) - 19) % 255])
        sequence = b"\xff" + more + LITERALS + struct.pack("<H", len(LITERALS)) + longer
        yield from (sequence for _ in range(units))
        yield b"\x00"
    elif codec == "SNAPPY":
        yield _varint(units * len(UNIT))
        copy = bytes([63 << 2 | 2]) + struct.pack("<H", len(LITERALS))
        element = bytes([61 << 2]) + struct.pack("<H", len(LITERALS) - 1) + LITERALS + copy * (len(LITERALS) // 64)
        yield from (element for _ in range(units))
    elif codec == "ZLIB":
        deflater = zlib.compressobj(1)
        yield from (deflater.compress(UNIT) for _ in range(units))
        yield deflater.flush(zlib.Z_SYNC_FLUSH)  # as Java leaves it
    else:
        yield from _zstd(units)


class _Parts(io.RawIOBase):
    """What a stream writes, to be taken away."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.parts.append(bytes(data))
        return len(data)

    def take(self) -> list[bytes]:
        parts, self.parts = self.parts, []
        return parts


def _zstd(units: int) -> Iterator[bytes]:
    parts = _Parts()
    stream = pa.CompressedOutputStream(pa.PythonFile(parts, mode="w"), "zstd")
    for _ in range(units):
        stream.write(UNIT)
        yield from parts.take()
    stream.close()
    yield from parts.take()


def _cut(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    held = bytearray()
    for piece in pieces:
        held += piece
        while len(held) >= size:
            yield bytes(held[:size])
            del held[:size]
    if held:
        yield bytes(held)


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def rebuild_in_a_process(folder: Path, written: Written) -> dict[str, Any]:
    """Rebuild the message in a new process: seconds, bytes, hash, and by how much its memory grew at most (bytes)."""
    (folder / "message.pickle").write_bytes(pickle.dumps(written.message))
    command = [sys.executable, "-m", "bench.huge_message", "--rebuild", str(folder)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in ("lib", "."))}
    done = subprocess.run(command, check=True, capture_output=True, env=environment, cwd=ROOT)  # noqa: S603
    return dict(json.loads(done.stdout))


def _rebuild(folder: Path) -> dict[str, Any]:
    message: ChunkedMessage = pickle.loads((folder / "message.pickle").read_bytes())  # noqa: S301 - our own
    reader = RangeReader(
        open_source(str(folder)).read, ((c.path, c.offset, c.offset + c.length) for (c,) in message.copies)
    )
    for warm in (lz4_pieces, snappy_pieces):  # what the compiler needs is not the message's
        with contextlib.suppress(DecodeError):
            list(warm([b"\x00"]))
    crc32c(np.zeros(8, dtype=np.uint8), 0, 8)
    before = _peak_bytes()
    began = time.perf_counter()
    result = rebuild_message(message, reader, KeySource().ring(), PayloadStore(str(folder), 0, 1 << 32))
    seconds = time.perf_counter() - began
    payload = result.payload
    return {
        "seconds": seconds,
        "grown_bytes": _peak_bytes() - before,
        "verified": result.verified,
        "size_bytes": payload.size_bytes if payload else None,
        "sha256": payload.sha256 if payload else None,
    }


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(argv: list[str]) -> int:
    """Write, rebuild, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--codec", action="append", choices=CODECS, help="default: all")
    parser.add_argument("--mib", type=int, default=1024, help="size of the message")
    parser.add_argument("--rebuild", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.rebuild:
        print(json.dumps(_rebuild(options.rebuild)))
        return 0
    for codec in options.codec or CODECS:
        with tempfile.TemporaryDirectory() as name:
            written = write_message(Path(name), codec, options.mib << 20)
            found = rebuild_in_a_process(Path(name), written)
        right = found["verified"] and found["sha256"] == written.sha256
        mib, grown = found["size_bytes"] / 2**20, found["grown_bytes"] / 2**20
        rate = mib / found["seconds"]
        verdict = "right" if right else "WRONG"
        print(f"{codec:7} {mib:7.0f} MiB  memory grew {grown:5.1f} MiB  {rate:6.0f} MiB/s  {verdict}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
