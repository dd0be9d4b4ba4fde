"""Writes MapFiles for tests, by the format's own rules and with no code of the reader."""

from __future__ import annotations

import bz2
import gzip
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cramjam

from tests.ledgers.encoding import MANAGED_LEDGER, UUID, metadata

SYNC = bytes(range(0x50, 0x60))
INDEX_SYNC = bytes(range(0x70, 0x80))
PACKAGE = "org.apache.hadoop.io.compress."
CODECS = ("DefaultCodec", "DeflateCodec", "GzipCodec", "BZip2Codec", "ZStandardCodec", "SnappyCodec", "Lz4Codec")
COMPRESSIONS = ("NONE", "RECORD", "BLOCK")
LONG, BYTES = "org.apache.hadoop.io.LongWritable", "org.apache.hadoop.io.BytesWritable"


def vint(value: int) -> bytes:
    """`WritableUtils.writeVLong`."""
    if -112 <= value <= 127:
        return struct.pack(">b", value)
    first, rest = (-112, value) if value >= 0 else (-120, ~value)
    size = max(1, -(-rest.bit_length() // 8))
    return struct.pack(">b", first - size) + rest.to_bytes(size, "big")


def text(words: str) -> bytes:
    return vint(len(words.encode())) + words.encode()


@dataclass(frozen=True)
class Style:
    """How a MapFile is written."""

    compression: str = "BLOCK"
    codec: str = "DefaultCodec"
    block_bytes: int = 1_000_000
    sync_interval: int = 102_400
    piece_bytes: int = 64 * 1024
    index_interval: int = 128
    version: int = 6
    pairs: tuple[tuple[str, str], ...] = ()
    sync: bytes = SYNC


@dataclass(frozen=True)
class MapFile:
    """The bytes of a MapFile, what is in it, and where.

    Attributes:
        places: first byte of each record, or of the block that holds it; the metadata's first.
        header: bytes of the data's header.
    """

    data: bytes
    index: bytes
    entries: tuple[bytes, ...]
    places: tuple[int, ...]
    header: int

    def with_data(self, data: bytes) -> MapFile:
        return replace(self, data=data)

    def with_index(self, index: bytes) -> MapFile:
        return replace(self, index=index)


def header(style: Style, value_class: str = BYTES) -> bytes:
    flags = {"NONE": b"\0\0", "RECORD": b"\1\0", "BLOCK": b"\1\1"}[style.compression]
    codec = text(PACKAGE + style.codec) if style.compression != "NONE" and style.version >= 5 else b""
    pairs = struct.pack(">i", len(style.pairs)) + b"".join(text(k) + text(v) for k, v in style.pairs)
    if style.version < 6:
        pairs = b""
    return b"SEQ" + bytes([style.version]) + text(LONG) + text(value_class) + flags + codec + pairs + style.sync


def compressed(data: bytes, style: Style) -> bytes:
    """A stream as Hadoop's codec writes it."""
    plain = {
        "DefaultCodec": zlib.compress,
        "DeflateCodec": zlib.compress,
        "GzipCodec": gzip.compress,
        "BZip2Codec": bz2.compress,
        "ZStandardCodec": lambda data: bytes(cramjam.zstd.compress(data)),
    }
    if style.codec in plain:
        return plain[style.codec](data)
    raw = {"SnappyCodec": cramjam.snappy.compress_raw, "Lz4Codec": lz4_block}[style.codec]
    if not data:
        return struct.pack(">i", 0)
    out = struct.pack(">i", len(data))
    for at in range(0, len(data), style.piece_bytes):
        block = bytes(raw(data[at : at + style.piece_bytes]))
        out += struct.pack(">i", len(block)) + block
    return out


def lz4_block(data: bytes) -> bytes:
    return bytes(cramjam.lz4.compress_block(data, store_size=False))


def value(body: bytes) -> bytes:
    """A BytesWritable."""
    return struct.pack(">i", len(body)) + body


def block(records: Sequence[tuple[int, bytes]], style: Style) -> bytes:
    """A block of records whose values are serialized already."""
    sections = (
        b"".join(vint(8) for _ in records),
        b"".join(struct.pack(">q", key) for key, _ in records),
        b"".join(vint(len(body)) for _, body in records),
        b"".join(body for _, body in records),
    )
    packed = (compressed(section, style) for section in sections)
    return b"\xff" * 4 + style.sync + vint(len(records)) + b"".join(vint(len(part)) + part for part in packed)


def record(key: int, body: bytes, style: Style) -> bytes:
    stored = body if style.compression == "NONE" else compressed(body, style)
    return struct.pack(">iiq", 8 + len(stored), 8, key) + stored


def sequence_file(
    records: Sequence[tuple[int, bytes]], style: Style, value_class: str = BYTES
) -> tuple[bytes, list[int], int]:
    """A file, the place that Hadoop's writer stood at before each record, and the bytes of its header."""
    out = bytearray(header(style, value_class))
    begins, places = len(out), []
    waiting: list[tuple[int, bytes]] = []
    last_sync = 0
    for key, body in records:
        places.append(len(out))
        if style.compression == "BLOCK":
            waiting.append((key, body))
            if sum(8 + len(each) for _, each in waiting) >= style.block_bytes:
                out += block(waiting, style)
                waiting = []
        else:
            if len(out) >= last_sync + style.sync_interval:
                out += b"\xff" * 4 + style.sync
                last_sync = len(out)
            out += record(key, body, style)
    if waiting:
        out += block(waiting, style)
    return bytes(out), places, begins


def index_of(keys: Sequence[int], places: Sequence[int], style: Style) -> bytes:
    """The index that `MapFile.Writer` makes."""
    pairs, last_place, last_count = [], -1, None
    for count, (key, place) in enumerate(zip(keys, places, strict=True)):
        if (last_count is None or count >= last_count + style.index_interval) and place > last_place:
            pairs.append((key, struct.pack(">q", place)))
            last_place, last_count = place, count
    own = replace(style, compression="BLOCK", codec="DefaultCodec", version=6, pairs=(), sync=INDEX_SYNC)
    return sequence_file(pairs, own, LONG)[0]


def map_file(
    bodies: Sequence[bytes],
    style: Style | None = None,
    managed_ledger: str | None = MANAGED_LEDGER,
    keys: Sequence[int] | None = None,
) -> MapFile:
    """What the offloader stores of a ledger; other keys than it would choose only where they are given."""
    style = style or Style()
    ids = list(keys) if keys is not None else list(range(len(bodies)))
    first = metadata(sum(map(len, bodies)), max(ids, default=-1), managed_ledger)
    records = [(-1, value(first)), *((key, value(body)) for key, body in zip(ids, bodies, strict=True))]
    data, places, begins = sequence_file(records, style)
    return MapFile(data, index_of([key for key, _ in records], places, style), tuple(bodies), tuple(places), begins)


def crc_file(data: bytes, chunk: int = 512) -> bytes:
    sums = (zlib.crc32(data[at : at + chunk]) for at in range(0, len(data), chunk))
    return b"crc\0" + struct.pack(">i", chunk) + b"".join(struct.pack(">I", each) for each in sums)


def put_map_file(
    folder: Path,
    stored: MapFile,
    ledger_id: int = 7,
    uuid: str = UUID,
    managed_ledger: str = MANAGED_LEDGER,
    checksums: bool = True,
) -> Path:
    """Write a MapFile where the offloader would; gives its folder."""
    place = folder / managed_ledger / f"{ledger_id}-{uuid}"
    place.mkdir(parents=True, exist_ok=True)
    for name, data in (("data", stored.data), ("index", stored.index)):
        (place / name).write_bytes(data)
        if checksums:
            (place / f".{name}.crc").write_bytes(crc_file(data))
    return place
