"""MapFiles: the scan of one next to inflating its blocks and doing nothing with them, two processes each.

What writes and inflates here shares no code with the reader. The format (docs/format.md, SequenceFile): a header that
ends with 16 bytes of sync, then blocks `[FFFFFFFF][sync][records vint]` and four sections `[length vint][zlib]`: key
lengths, keys, value lengths, values `[n i32][n bytes]`.
"""

from __future__ import annotations

import struct
import zlib
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pyarrow as pa

from bench.baseline_crc import pool
from bench.generate import BLOCK_HEADER_BYTES, Spec
from bench.measuring import interleaved, median_ratio
from bench.scorecard import Goal, Scorecard
from bench.subjects import CLUSTER, Backlog
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.ledgers.values import Block, ScanUnit
from pulsar_backlog.scanning.unit import scan_unit

MAP_FILES = Spec(400_000, ledgers=2)
PROCESSES = 2
BLOCK_BYTES = 1_000_000
SYNC = b"a sync marker: 0"
_HEAD = struct.Struct(">iq")
_NAMES = ("org.apache.hadoop.io.LongWritable", "org.apache.hadoop.io.BytesWritable")
_CODEC = "org.apache.hadoop.io.compress.DefaultCodec"
HEADER = (
    b"SEQ\x06" + b"".join(bytes([len(name)]) + name.encode() for name in _NAMES)
    + b"\x01\x01" + bytes([len(_CODEC)]) + _CODEC.encode() + bytes(4) + SYNC
)  # fmt: skip
ESCAPE = b"\xff" * 4 + SYNC


def write_map_files(backlog: Backlog) -> list[Path]:
    """A MapFile's data beside each data object, with the same entries."""
    objects = sorted(path for path in backlog.folder.iterdir() if not path.name.endswith(("-index", ".data")))
    return [_write(path, path.with_name(f"{path.name}.data")) for path in objects]


def _write(stored: Path, target: Path) -> Path:
    data, at = stored.read_bytes(), BLOCK_HEADER_BYTES
    records = [(-1, b"ledger metadata")]
    with target.open("wb") as out:
        out.write(HEADER)
        size = 0
        while at + _HEAD.size <= len(data):
            length, entry_id = _HEAD.unpack_from(data, at)
            if length < 0:  # padding, and another block behind it
                at = data.index(struct.pack(">Iq", 0xFBDBABCB, BLOCK_HEADER_BYTES), at) + BLOCK_HEADER_BYTES
                continue
            at += _HEAD.size
            records.append((entry_id, data[at : at + length]))
            at += length
            size += length + 12
            if size >= BLOCK_BYTES:
                out.write(_block(records))
                records, size = [], 0
        if records:
            out.write(_block(records))
    return target


def _block(records: list[tuple[int, bytes]]) -> bytes:
    values = [struct.pack(">i", len(body)) + body for _, body in records]
    sections = (
        b"\x08" * len(records),
        b"".join(struct.pack(">q", key) for key, _ in records),
        b"".join(_vint(len(value)) for value in values),
        b"".join(values),
    )
    packed = [zlib.compress(section) for section in sections]
    return ESCAPE + _vint(len(records)) + b"".join(_vint(len(each)) + each for each in packed)


def _vint(value: int) -> bytes:
    if value <= 127:
        return bytes([value])
    size = (value.bit_length() + 7) // 8
    return bytes([256 - 112 - size]) + value.to_bytes(size, "big")


def inflate_file(path: str) -> int:
    """Decompress every section of a file, one block after the other; bytes that came out."""
    inflated = 0
    with Path(path).open("rb") as file:
        file.seek(len(HEADER))
        while file.read(len(ESCAPE)):
            _read_vint(file.read)
            for _ in range(4):
                inflated += len(zlib.decompress(file.read(_read_vint(file.read))))
    return inflated


def _read_vint(read: object) -> int:
    first = read(1)[0]  # type: ignore[operator]
    return first if first <= 127 else int.from_bytes(read(256 - 112 - first), "big")  # type: ignore[operator]


def scan_file(path: str, schema: pa.Schema) -> int:
    """Scan a file as a task does, into Arrow; entries that were found."""
    file = Path(path)
    block = Block(0, file.stat().st_size, 0, None, is_last=True)
    unit = ScanUnit(1, "copy", "topic", file.name, 0, (block,), "filesystem")
    return sum(piece.account.decoded for piece in scan_unit(open_source(str(file.parent)), unit, CLUSTER, schema))


def measure_map_files(backlog: Backlog, schema: pa.Schema, repetitions: int, card: Scorecard) -> None:
    """The line of the scorecard."""
    files = [str(path) for path in write_map_files(backlog)]
    with pool(PROCESSES) as workers:
        inflated = sum(workers.map(inflate_file, files))
        found = _scan(workers, files, schema)  # compiles
        timings = interleaved(
            {
                "inflating alone": lambda: list(workers.map(inflate_file, files)),
                "MapFile scan": lambda: _scan(workers, files, schema),
            },
            repetitions,
        )
    card.tell_rates(timings, inflated / 1e9, "GB/s")
    ratio = median_ratio(timings["inflating alone"], timings["MapFile scan"])
    card.goals += [
        Goal("MapFile scan, against inflating its blocks alone", ratio, "x", at_least=0.7),
        Goal("MapFile entries missing", backlog.entries - found, "entries", at_most=0),
    ]


def _scan(workers: ProcessPoolExecutor, files: list[str], schema: pa.Schema) -> int:
    return sum(workers.map(scan_file, files, [schema] * len(files)))
