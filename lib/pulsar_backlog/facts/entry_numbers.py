"""What the compiled loops know of each entry of a stretch: bits, and numbers, each kind by its place."""

from __future__ import annotations

from typing import Any

from pulsar_backlog.wire.loops import Loop

(
    MARKER, DAMAGED, UNCHECKED, BATCH, CHUNKS, CHUNK_ID, UUID, TRANSACTION, INDEX, BROKER, PUBLISH, METADATA,
    REPLICATED,
) = (1 << bit for bit in range(13))  # fmt: skip
"""Bits: a marker; damaged; without a checksum; says how many messages its batch holds; says how many chunks its message
has, which one it is, the message's uuid; of a transaction; has an index, a broker's time, a producer's time that is no
nonsense, broker metadata; was replicated."""

(
    ENTRY_ID, LENGTH, END, PAYLOAD_LENGTH, PAYLOAD_OFFSET, BATCH_SIZE, CHUNK_COUNT, CHUNK, INDEX_NUMBER, BROKER_MS,
    PUBLISH_MS, WIRE_MS,
) = range(12)  # fmt: skip
"""Numbers, 0 where an entry has none: `END` is the byte after what holds it, `WIRE_MS` its time whatever it is."""


@Loop
def stored_ms(flag: int, numbers: Any, row: int) -> Any:
    """When an entry was stored that has a time: by the broker's clock, else by the producer's."""
    return numbers[BROKER_MS][row] if flag & BROKER else numbers[PUBLISH_MS][row]
