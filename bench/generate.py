"""Writes big backlogs as the objects a broker offloads to a bucket, into a folder, at disk speed.

    python -m bench.generate --out DIR --entries 2000000 --entry-bytes 1024

Shares no code with the reader: what this file writes and what the reader reads are two readings of the
same formats, so a mistake in one of them shows. The formats (all integers big-endian):

    data object    blocks: [FBDBABCB][header length i64 = 128][block length i64][first entry id i64][100 x 0]
                   then [length i32][entry id i64][entry] until the next does not fit, then FEDCDEAD
    index object   [DE47DE47][length i32][data length i64][header length i64 = 128][blocks i32]
                   [metadata length i32][LedgerMetadataFormat], per block [first entry id i64][part i32][offset i64]
    entry          [0E02][size i32][BrokerEntryMetadata] [0E01][crc32c u32][size u32][MessageMetadata] payload

    source: apache/pulsar 492eb456, JC = tiered-storage/jcloud/src/main/java/.../offload/jcloud/impl:
    JC/DataBlockHeaderImpl.java, JC/BlockAwareSegmentInputStreamImpl.java, JC/OffloadIndexBlockImpl.java,
    pulsar-common/.../protocol/Commands.java, pulsar-common/src/main/proto/PulsarApi.proto

A *cycle* of some hundred different entries is built once, byte by byte; a block is that cycle many times over
with the numbers patched in as columns. That needs entries of one length in every repetition, so counters
start where their varints keep one width. The same `Spec` always gives the same bytes.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import sys
import time
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

import google_crc32c
import numpy as np

from bench.cycle import Cycle, build_cycle
from bench.draft import bytes_field, number_field

BLOCK_HEADER = struct.Struct(">IqqQ")
BLOCK_HEADER_BYTES = 128
INDEX_HEADER = struct.Struct(">IiqqiI")
INDEX_ENTRY = struct.Struct(">qiq")
FIRST_LEDGER_ID = 1000
CREATED_MS = 1_764_000_000_000


@dataclass(frozen=True)
class Spec:
    """What to write. Shares are parts of all entries, from 0 to 1, met to within one cycle's granularity.

    Attributes:
        entries: how many; the last ledger may get a few more, to end with a whole message.
        entry_bytes: payload bytes of each entry (of a batch a few less); metadata comes on top.
        ledgers: how many ledgers they are spread over.
        chunk_share: entries that are chunks of messages of `chunks` chunks.
        batch_share: entries that are batches of up to `batch` messages.
        key_share: entries with a partition key and an event time, among those that are single messages.
        properties: properties of each message that is not in a batch.
        broker_metadata: whether each entry begins with the broker's timestamp and index.
        block_bytes: largest data block.
        seed: another seed gives other payloads, another order of shapes and other object names.
    """

    entries: int
    entry_bytes: int = 1024
    ledgers: int = 1
    chunk_share: float = 0.04
    chunks: int = 4
    batch_share: float = 0.2
    batch: int = 10
    key_share: float = 0.3
    properties: int = 2
    broker_metadata: bool = True
    block_bytes: int = 64 * 1024 * 1024
    topic: str = "backlog"
    seed: int = 1


@dataclass(frozen=True)
class Written:
    """What was written: entries and bytes over all data objects, the full topic name, and the ledger ids."""

    entries: int
    data_bytes: int
    topic: str
    ledgers: tuple[int, ...]


def write_backlog(spec: Spec, out: Path) -> Written:
    """Write data and index objects of all ledgers of `spec` into `out`, which is made when it is missing."""
    out.mkdir(parents=True, exist_ok=True)
    rng = random.Random(spec.seed)  # noqa: S311 - sameness is wanted here, not secrecy
    cycle = build_cycle(spec, rng, min(spec.entries // spec.ledgers, 200), CREATED_MS)
    # Whole cycles in all ledgers but the last, so that counters run on without a gap.
    cycles_each = spec.entries // spec.ledgers // cycle.entries
    first_row, written, data_bytes, ids = 0, 0, 0, []
    for number in range(spec.ledgers):
        last = number == spec.ledgers - 1
        count = cycle.whole_messages(spec.entries - written) if last else cycles_each * cycle.entries
        ledger_id = FIRST_LEDGER_ID + number
        name = f"{uuid.UUID(int=rng.getrandbits(128), version=4)}-ledger-{ledger_id}"
        data_bytes += _write_ledger(out / name, cycle, count, first_row, spec)
        first_row += cycles_each
        written += count
        ids.append(ledger_id)
    return Written(written, data_bytes, f"persistent://bench/scan/{spec.topic}", tuple(ids))


def _write_ledger(path: Path, cycle: Cycle, count: int, first_row: int, spec: Spec) -> int:
    """Write one ledger's data and index object; give the length of the data object."""
    blocks: list[tuple[int, int]] = []
    offset, first = 0, 0
    with path.open("wb") as out:
        while first < count:
            wanted = BLOCK_HEADER_BYTES + cycle.offset(count) - cycle.offset(first)
            length = min(spec.block_bytes, wanted)
            end = min(count, cycle.last_whole(cycle.offset(first) + length - BLOCK_HEADER_BYTES))
            if end == first:
                raise ValueError(f"entries of {spec.entry_bytes} bytes do not fit blocks of {spec.block_bytes}")
            content = _entries(cycle, first, end, first_row)
            head = BLOCK_HEADER.pack(0xFBDBABCB, BLOCK_HEADER_BYTES, length, first)
            out.write(head.ljust(BLOCK_HEADER_BYTES, b"\0"))
            out.write(content)
            padding = length - BLOCK_HEADER_BYTES - len(content)
            out.write((b"\xfe\xdc\xde\xad" * (padding // 4 + 1))[:padding])
            blocks.append((first, offset))
            offset, first = offset + length, end
    payload_bytes = cycle.offset(count) - 12 * count
    created_ms = CREATED_MS + first_row * cycle.entries
    index = index_object(offset, blocks, ledger_metadata(payload_bytes, count, created_ms, spec.topic))
    path.with_name(f"{path.name}-index").write_bytes(index)
    return offset


def _entries(cycle: Cycle, first: int, end: int, first_row: int) -> memoryview:
    """Frames of entries `first` to `end` (excluded) of a ledger whose first cycle is number `first_row`."""
    row, end_row = first // cycle.entries, -(-end // cycle.entries)
    rows = np.tile(cycle.prototype, (end_row - row, 1))
    for patch in cycle.patches:
        start = row if patch.per_ledger else first_row + row
        patch.apply(rows, start)
    data = rows.tobytes()  # the checksum function takes bytes only
    crc32c, width = google_crc32c.value, len(cycle.prototype)
    sums = [crc32c(data[base + a : base + b]) for base in range(0, len(data), width) for _, a, b in cycle.checksums]
    columns = np.array(sums, dtype=">u4").reshape(len(rows), len(cycle.checksums))
    for number, (place, _, _) in enumerate(cycle.checksums):
        rows[:, place : place + 4] = columns[:, number : number + 1].copy().view(np.uint8)
    skip = cycle.offset(row * cycle.entries)
    return rows.reshape(-1)[cycle.offset(first) - skip : cycle.offset(end) - skip].data


def index_object(data_bytes: int, blocks: list[tuple[int, int]], metadata: bytes) -> bytes:
    length = INDEX_HEADER.size + len(metadata) + INDEX_ENTRY.size * len(blocks)
    head = INDEX_HEADER.pack(0xDE47DE47, length, data_bytes, BLOCK_HEADER_BYTES, len(blocks), len(metadata))
    parts = [INDEX_ENTRY.pack(first, part, offset) for part, (first, offset) in enumerate(blocks, start=1)]
    return b"".join((head, metadata, *parts))


def ledger_metadata(payload_bytes: int, count: int, created_ms: int, topic: str) -> bytes:
    """LedgerMetadataFormat of a closed ledger on one bookie."""
    custom = {
        b"pulsar/managed-ledger": f"bench/scan/persistent/{topic}".encode(),
        b"component": b"managed-ledger",
        b"application": b"pulsar",
    }
    return b"".join(
        (
            number_field(1, 1),  # write quorum
            number_field(2, 1),  # ensemble
            number_field(3, payload_bytes),
            number_field(4, count - 1),  # last entry id
            number_field(5, 3),  # CLOSED
            bytes_field(6, bytes_field(1, b"bookie:3181") + number_field(2, 0)),
            number_field(7, 3),  # digest CRC32C
            number_field(9, 1),  # ack quorum
            number_field(10, created_ms),
            *(bytes_field(11, bytes_field(1, key) + bytes_field(2, value)) for key, value in custom.items()),
        )
    )


def arg_parser() -> argparse.ArgumentParser:
    """Options: one for each field of `Spec`."""
    parser = argparse.ArgumentParser(prog="bench.generate", description="Write a big offloaded backlog.")
    parser.add_argument("--out", type=Path, required=True, help="folder to write the objects into")
    parser.add_argument("--no-broker-metadata", dest="broker_metadata", action="store_false")
    parser.add_argument("--entries", type=int, required=True)
    for name, default in asdict(Spec(entries=0)).items():
        if name not in ("entries", "broker_metadata"):
            parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    return parser


def main(argv: list[str]) -> int:
    """Write the backlog that the options describe and print what it holds."""
    options = vars(arg_parser().parse_args(argv))
    out = options.pop("out")
    began = time.perf_counter()
    written = write_backlog(Spec(**options), out)
    seconds = time.perf_counter() - began
    print(json.dumps({**asdict(written), "seconds": round(seconds, 2)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
