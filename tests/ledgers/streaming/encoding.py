"""Writes objects of streaming offload for tests, by the offloader's own rules and with no code of the reader."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.ledgers.encoding import UUID, block_entry, field, padding

BLOCK_MAGIC = 0x26A66D32


@dataclass(frozen=True)
class Stretch:
    """Entries of one ledger, as they are offered to the offloader one after another.

    Attributes:
        ledger_id: ledger.
        first: id of the first of `bodies`.
        bodies: the entries.
        total: entries and bytes of the whole ledger, where it had ended; None while it is open.
    """

    ledger_id: int
    first: int
    bodies: Sequence[bytes]
    total: tuple[int, int] | None


@dataclass(frozen=True)
class Segment:
    """A data object, its index, and where its blocks begin."""

    data: bytes
    index: bytes
    offsets: tuple[int, ...]


def closed(ledger_id: int, bodies: Sequence[bytes], first: int = 0, end: int | None = None) -> Stretch:
    """Entries `first` to `end` of a ledger that has ended."""
    return Stretch(ledger_id, first, bodies[first:end], (len(bodies), sum(map(len, bodies))))


def header(length: int, first: int, ledger_id: int, magic: int = BLOCK_MAGIC) -> bytes:
    return struct.pack(">Iqqqq", magic, 128, length, first, ledger_id) + bytes(92)


def info(ledger_id: int, entries: int, size: int | None) -> bytes:
    """LedgerInfo; of a closed ledger with its size and when it was closed."""
    end = b"" if size is None else field(3, size) + field(4, 1_700_000_000_000)
    return field(1, ledger_id) + field(2, entries) + end


def indexed(ledger_id: int, metadata: bytes, blocks: Sequence[tuple[int, int, int]]) -> bytes:
    """What an index has of one ledger; blocks are first entry id, part and offset."""
    head = struct.pack(">qii", ledger_id, len(blocks), len(metadata)) + metadata
    return head + b"".join(struct.pack(">qiq", *block) for block in blocks)


def index(ledgers: Sequence[bytes], data_bytes: int, header_bytes: int = 128, magic: int = 0x3D1FB0BC) -> bytes:
    body = b"".join(ledgers)
    return struct.pack(">Iiqq", magic, 24 + len(body), data_bytes, header_bytes) + body


def segment(stretches: Sequence[Stretch], block_bytes: int, *, leave_out_first: bool = False) -> Segment:
    """One object: blocks of at least `block_bytes`, each of one ledger.

    Args:
        stretches: in the order in which they were offered.
        block_bytes: `streamingBlockSize` of the offloader.
        leave_out_first: whether a block's length leaves its first entry out, as that of the offloader does: such a
            block goes on behind its end, and the index names later ones where they would be without that.
    """
    data, named_at, offsets = b"", 0, []
    parts: dict[int, list[tuple[int, int, int]]] = {}
    seen: dict[int, tuple[int, int | None]] = {}
    for one in stretches:
        at = 0
        while at < len(one.bodies):
            first, taken, size = at, 0, 0
            while at < len(one.bodies) and size <= block_bytes:
                size += len(one.bodies[at]) if at > first else 0
                at, taken = at + 1, taken + 1
            bodies = one.bodies[first:at]
            counted = sum(map(len, bodies[1:] if leave_out_first else bodies))
            length = max(block_bytes, 128 + 12 * taken + counted)
            block = header(length, one.first + first, one.ledger_id)
            for entry_id, body in enumerate(bodies, one.first + first):
                if len(block) < length:  # what would begin behind the end is not stored
                    block += block_entry(entry_id, body)
            offsets.append(len(data))
            number = sum(map(len, parts.values())) + 1
            parts.setdefault(one.ledger_id, []).append((one.first + first, number, named_at))
            data += block + padding(length - len(block))
            named_at += length
        seen[one.ledger_id] = one.total or (one.first + len(one.bodies), None)
    ledgers = [indexed(ledger_id, info(ledger_id, *seen[ledger_id]), blocks) for ledger_id, blocks in parts.items()]
    return Segment(data, index(ledgers, named_at), tuple(offsets))


def put_segment(folder: Path, stored: Segment, uuid: str = UUID) -> tuple[Path, Path]:
    """Write data and index object; gives their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    data, index_object = folder / uuid, folder / f"{uuid}-index"
    data.write_bytes(stored.data)
    index_object.write_bytes(stored.index)
    return data, index_object
