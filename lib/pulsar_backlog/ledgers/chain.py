"""The chain of block headers in a data object: what the data itself says of its blocks, without an index."""

from __future__ import annotations

from dataclasses import dataclass

from pulsar_backlog.errors import CONTEXT_BYTES
from pulsar_backlog.ledgers.faults import Fault
from pulsar_backlog.ledgers.jcloud import (
    BLOCK_HEADER_BYTES,
    BLOCK_MAGIC,
    ENTRY_HEADER_BYTES,
    check_block_header,
    decode_block_header,
)
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.stored_objects import StoredObject
from pulsar_backlog.ledgers.values import Block
from pulsar_backlog.wire.arrays import Bytes

MAX_BLOCKS_WALKED = 10_000
"""Headers read one by one at most; at the smallest block a broker allows (5 MiB) that is 50 GB of ledger."""


@dataclass(frozen=True)
class Chain:
    """Blocks found from header to header; `is_whole` when it runs without a fault to the object's last byte."""

    blocks: tuple[Block, ...]
    faults: tuple[Fault, ...]
    is_whole: bool


def read_chain(source: Source, data: StoredObject) -> Chain:
    """Follow the data object from block header to block header.

    Raises:
        SourceError: the object cannot be read.
    """
    blocks: list[Block] = []
    faults: list[Fault] = []
    offset = 0
    while offset < data.size and len(blocks) < MAX_BLOCKS_WALKED:
        raw = source.read(data.path, offset, offset + BLOCK_HEADER_BYTES + ENTRY_HEADER_BYTES)
        block = _block_at(raw, offset, data.size, blocks[-1] if blocks else None)
        if block is None:
            break
        faults += check_block_header(raw[:BLOCK_HEADER_BYTES].tobytes(), block)
        blocks.append(block)
        offset += block.length
    if offset < data.size:
        first_bytes = source.read(data.path, offset, min(data.size, offset + CONTEXT_BYTES)).tobytes()
        expected, found = "another block header", f"{data.size - offset} bytes that are none"
        faults.append(
            Fault("bytes_after_last_block", offset, offset, data.size - offset, "data", expected, found, first_bytes)
        )
    return Chain(tuple(blocks), tuple(faults), is_whole=bool(blocks) and not faults)


def _block_at(raw: Bytes, offset: int, size: int, before: Block | None) -> Block | None:
    """The block that begins with `raw`, or None when nothing there looks like one.

    A damaged header is made up for by the first entry's own header, so that one bad byte does not end the chain.
    """
    header = decode_block_header(raw.tobytes())
    if header is None:
        return None
    least, most = 0, 0
    if before is not None:
        least = before.first_entry_id + 1
        most = before.first_entry_id + (before.length - BLOCK_HEADER_BYTES) // ENTRY_HEADER_BYTES
    length_fits = BLOCK_HEADER_BYTES <= header.block_length <= size - offset
    length = header.block_length if length_fits else size - offset
    if header.magic == BLOCK_MAGIC and least <= header.first_entry_id <= most:
        return Block(offset, length, header.first_entry_id, None)
    entry = raw[BLOCK_HEADER_BYTES:].tobytes()
    entry_bytes, entry_id = int.from_bytes(entry[:4], "big", signed=True), int.from_bytes(entry[4:], "big", signed=True)
    is_entry = len(entry) == ENTRY_HEADER_BYTES and 0 < entry_bytes <= length - len(entry) - BLOCK_HEADER_BYTES
    if is_entry and least <= entry_id <= most:
        return Block(offset, length, entry_id, None)
    return None
