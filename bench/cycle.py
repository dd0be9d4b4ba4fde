"""The cycle of entries that `bench.generate` repeats: built byte by byte, with places for running numbers.

What is built here is the wire format, entry by entry: MessageMetadata in field order as Java writes it
(PulsarApi.proto of apache/pulsar 492eb456).
"""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bench.draft import Draft, Int64s, Patch, big_endian, bytes_field, number_field

if TYPE_CHECKING:
    from bench.generate import Spec

FIRST_SEQUENCE = 10_000_000  # 8 digits and 4 varint bytes up to 99,999,999
FIRST_INDEX = 1 << 28  # 5 varint bytes up to 2^35
CYCLE_BYTES = 32 * 1024 * 1024
PRODUCERS = 4


@dataclass(frozen=True)
class Shape:
    """What one entry of the cycle is. `chunk` is the chunk id, or None; `messages` is 0 but for batches."""

    producer: int
    keyed: bool = False
    messages: int = 0
    chunk: int | None = None


@dataclass(frozen=True)
class Cycle:
    """Entries to repeat.

    Attributes:
        prototype: their frames, one after the other, numbers left 0.
        starts: where each frame begins, and at the end where the last one ends.
        shapes: what each entry is.
        patches: the running numbers.
        checksums: for each entry: column of the CRC, and first and last (excluded) column it covers.
    """

    prototype: npt.NDArray[np.uint8]
    starts: Int64s
    shapes: tuple[Shape, ...]
    patches: tuple[Patch, ...]
    checksums: tuple[tuple[int, int, int], ...]

    @property
    def entries(self) -> int:
        """Entries in one cycle."""
        return len(self.shapes)

    def offset(self, entry: int) -> int:
        """Bytes before the frame of entry number `entry`."""
        row, place = divmod(entry, self.entries)
        return row * len(self.prototype) + int(self.starts[place])

    def last_whole(self, size: int) -> int:
        """How many entries fit into the first `size` bytes."""
        row, rest = divmod(size, len(self.prototype))
        return row * self.entries + int(np.searchsorted(self.starts, rest, side="right")) - 1

    def whole_messages(self, count: int) -> int:
        """The least number of entries from `count` on that does not cut a chunked message."""
        while self.shapes[count % self.entries].chunk:
            count += 1
        return count


@dataclass(frozen=True)
class _Place:
    """Where the counters stand at one entry of the cycle, and how far the whole cycle moves them."""

    entry: int
    sequence: int
    last_index: int
    entries: int
    sequences: int
    indexes: int


def build_cycle(spec: Spec, rng: random.Random, entries: int, created_ms: int) -> Cycle:
    """Build a cycle of at most `entries` entries (fewer when they are large) with the shares of `spec`."""
    shapes = _shapes(spec, rng, max(min(entries, CYCLE_BYTES // max(spec.entry_bytes, 1)), 1))
    sequences, indexes = _counters(shapes)
    whole, starts, checksums = Draft(), [0], []
    for entry, shape in enumerate(shapes):
        sequence, before = _counters(shapes[:entry])
        if shape.chunk:
            sequence -= 1
        last_index = before + max(shape.messages, 1) - 1
        place = _Place(entry, sequence, last_index, len(shapes), sequences, indexes)
        head = _broker_metadata(shape, place, created_ms) if spec.broker_metadata else Draft()
        body = _message(spec, shape, place, rng, created_ms)
        whole.add(struct.pack(">i", len(head.data) + 6 + len(body.data)))
        whole.patches.append(Patch(len(whole.data), 8, big_endian, entry, len(shapes), per_ledger=True))
        whole.add(bytes(8))
        whole.add(head)
        whole.add(b"\x0e\x01\0\0\0\0")
        checksums.append((len(whole.data) - 4, len(whole.data), len(whole.data) + len(body.data)))
        whole.add(body)
        starts.append(len(whole.data))
    prototype = np.frombuffer(bytes(whole.data), np.uint8)
    return Cycle(prototype, np.array(starts), shapes, tuple(whole.patches), tuple(checksums))


def _counters(shapes: tuple[Shape, ...]) -> tuple[int, int]:
    """Sequence ids and indexes that these entries use up: all chunks of a message share one sequence id."""
    return sum(0 if s.chunk else max(s.messages, 1) for s in shapes), sum(max(s.messages, 1) for s in shapes)


def _shapes(spec: Spec, rng: random.Random, entries: int) -> tuple[Shape, ...]:
    """What the entries of the cycle are: shares rounded, but never to nothing, in random order."""
    groups = min(_part(spec.chunk_share / spec.chunks, entries), entries // spec.chunks)
    batches = min(_part(spec.batch_share, entries), entries - groups * spec.chunks)
    singles = entries - groups * spec.chunks - batches
    keyed = _part(spec.key_share, singles)
    kinds = ["chunks"] * groups + ["batch"] * batches + ["keyed"] * keyed + ["plain"] * (singles - keyed)
    rng.shuffle(kinds)
    shapes: list[Shape] = []
    for kind in kinds:
        producer = rng.randrange(PRODUCERS)
        if kind == "chunks":
            shapes += [Shape(producer, chunk=chunk) for chunk in range(spec.chunks)]
        else:
            messages = _batch_size(spec) if kind == "batch" else 0
            shapes.append(Shape(producer, keyed=kind == "keyed", messages=messages))
    return tuple(shapes)


def _part(share: float, entries: int) -> int:
    return min(max(round(share * entries), 1), entries) if share > 0 else 0


def _batch_size(spec: Spec) -> int:
    """Messages in a batch: fewer where the payload is too small for many."""
    return max(min(spec.batch, spec.entry_bytes // 64), 1)


def _broker_metadata(shape: Shape, place: _Place, created_ms: int) -> Draft:
    """Part A: magic, size, broker_timestamp = 1, index = 2 (of the last message of the entry)."""
    fields = Draft()
    fields.number(1, 6, created_ms + place.entry + 2, place.entries)
    fields.number(2, 5, FIRST_INDEX + place.last_index, place.indexes)
    head = Draft()
    head.add(b"\x0e\x02" + struct.pack(">i", len(fields.data)))
    head.add(fields)
    return head


def _message(spec: Spec, shape: Shape, place: _Place, rng: random.Random, created_ms: int) -> Draft:
    """Parts C and D: size, MessageMetadata, payload; all that the checksum covers."""
    payload = _batch_payload(spec, shape.messages, rng) if shape.messages else rng.randbytes(spec.entry_bytes)
    metadata = _metadata(spec, shape, place, created_ms, len(payload))
    body = Draft()
    body.add(struct.pack(">I", len(metadata.data)))
    body.add(metadata)
    body.add(payload)
    if spec.entry_bytes >= 256:  # no two payloads alike
        column = len(body.data) - 8
        body.patches.append(Patch(column, 8, big_endian, place.entry, place.entries))
    return body


def _metadata(spec: Spec, shape: Shape, place: _Place, created_ms: int, payload_bytes: int) -> Draft:
    """MessageMetadata in field order."""
    producer = b"bench-producer-%d" % shape.producer
    sequence = FIRST_SEQUENCE + place.sequence
    out = Draft()
    out.add(bytes_field(1, producer))
    out.number(2, 4, sequence, place.sequences)
    publish_ms = created_ms + place.entry - (shape.chunk or 0)  # one entry each millisecond; chunks share theirs
    out.number(3, 6, publish_ms, place.entries)
    if not shape.messages:
        for number in range(spec.properties):
            out.nest(4, _property(number, place))
    if shape.keyed:
        out.text(6, b"customer-", 5, place.sequence * 7919, place.sequences * 7919, 100_000)
    total = spec.entry_bytes * (spec.chunks if shape.chunk is not None else 1)
    out.add(number_field(9, payload_bytes if shape.messages else total))
    if shape.messages:
        out.add(number_field(11, shape.messages))
    if shape.keyed:
        out.number(12, 6, publish_ms - 250, place.entries)
    out.add(bytes_field(16, (3).to_bytes(8, "big")))
    if shape.messages:
        out.number(24, 4, sequence + shape.messages - 1, place.sequences)
    if shape.chunk is not None:
        out.text(26, producer + b"-", 8, sequence, place.sequences)
        out.add(number_field(27, spec.chunks) + number_field(28, total) + number_field(29, shape.chunk))
    return out


def _property(number: int, place: _Place) -> Draft:
    """KeyValue: the first property differs in each message, the others repeat."""
    out = Draft()
    out.add(bytes_field(1, b"trace-id" if number == 0 else b"attribute-%d" % number))
    if number == 0:
        out.text(2, b"", 16, place.sequence, place.sequences)
    else:
        out.text(2, b"value-", 3, place.sequence * number, place.sequences, 1000)
    return out


def _batch_payload(spec: Spec, messages: int, rng: random.Random) -> bytes:
    """Batch frames ([size u32][SingleMessageMetadata][value]) of equal size, all but filling the payload."""
    share = spec.entry_bytes // messages
    value_bytes = max(share - 4 - len(number_field(3, share)), 0)
    metadata = number_field(3, value_bytes)
    head = struct.pack(">I", len(metadata)) + metadata
    return b"".join(head + rng.randbytes(value_bytes) for _ in range(messages))
