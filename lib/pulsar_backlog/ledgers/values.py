"""What passes between storage and the rest: copies of ledgers, scan units, batches of frames, faults."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

UNIT_BYTES = 64 * 1024 * 1024
"""Size a scan unit aims at; one unit is read at once, so it bounds a worker's memory."""

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class StoredObject:
    """One object of the source as listed.

    Attributes:
        path: key relative to the source.
        size: bytes.
        etag: version tag, or None when the store gives none (then the modification time stands in).
    """

    path: str
    size: int
    etag: str | None


@dataclass(frozen=True)
class Block:
    """One data block of an offloaded ledger.

    Attributes:
        offset: first byte of the block header in the data object.
        length: bytes of the block, header and padding included.
        first_entry_id: id of its first entry.
        entry_count: entries it must hold by the index and ledger metadata, or None when unknown.
    """

    offset: int
    length: int
    first_entry_id: int
    entry_count: int | None


@dataclass(frozen=True)
class ScanUnit:
    """A piece of a ledger copy that one task reads alone, in one ranged read.

    Attributes:
        ledger_id: ledger.
        copy: offload attempt's UUID.
        topic: full topic name, or None.
        path: data object, relative to the source.
        number: place of the unit in the copy, from 0.
        blocks: consecutive blocks; a block larger than `UNIT_BYTES` is a unit of its own, read in windows.
    """

    ledger_id: int
    copy: str
    topic: str | None
    path: str
    number: int
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Fault:
    """Something wrong with the structure around entries: a row of `rejects` with scope `structure`.

    Attributes:
        code: stable reject code.
        entry_offset: first byte of the structure in the object.
        offset: where it went wrong in the object.
        length: bytes of the structure.
        field: path of the field.
        expected: what the format asks for.
        found: what was there.
        first_bytes: up to 32 bytes from `offset` on.
    """

    code: str
    entry_offset: int
    offset: int
    length: int
    field: str
    expected: str
    found: str
    first_bytes: bytes


@dataclass(frozen=True)
class FrameBatch:
    """Entries of one unit: one contiguous buffer, and where in it each entry lies.

    Attributes:
        buffer: bytes of a part of the data object.
        base: offset of `buffer[0]` in the data object.
        entry_id: ids by place in the block.
        offset: first byte of each entry body within `buffer`.
        length: bytes of each entry body.
        faults: what was wrong around the entries.
    """

    buffer: npt.NDArray[np.uint8]
    base: int
    entry_id: Int64s
    offset: Int64s
    length: Int64s
    faults: tuple[Fault, ...]
