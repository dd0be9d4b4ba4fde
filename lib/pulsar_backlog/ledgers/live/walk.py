"""A scan unit of a live ledger as batches: entries as the broker sends them, and faults for those it does not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulsar_backlog.ledgers.entry_batch import EntryBatch
from pulsar_backlog.ledgers.faults import Fault
from pulsar_backlog.ledgers.live.values import ENTRY_BITS, Hidden, address_of
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.values import ScanUnit

_MAX_ENTRIES = 16_384


def walk_unit(source: Source, unit: ScanUnit, window_bytes: int) -> Iterator[EntryBatch]:
    """The unit's entries in order, in batches of about `window_bytes`.

    Raises:
        SourceError: they cannot be read to the last one.
    """
    if not unit.blocks:
        return
    counts = [block.entry_count or 0 for block in unit.blocks]
    first, last = unit.blocks[0].first_entry_id, unit.blocks[-1].first_entry_id + counts[-1] - 1
    average = sum(block.length for block in unit.blocks) // max(1, sum(counts))
    entries: list[tuple[int, bytes]] = []
    faults: list[Fault] = []
    size = 0
    for one in source.live_place.entries(unit.path, first, last, average):
        if isinstance(one, Hidden):
            faults.append(_fault(one))
        else:
            entries.append(one)
            size += len(one[1])
        if size >= window_bytes or len(entries) + len(faults) >= _MAX_ENTRIES:
            yield _batch(entries, faults)
            entries, faults, size = [], [], 0
    if entries or faults:
        yield _batch(entries, faults)


def _batch(entries: list[tuple[int, bytes]], faults: list[Fault]) -> EntryBatch:
    ids = np.array([entry_id for entry_id, _ in entries], dtype=np.int64)
    lengths = np.array([len(data) for _, data in entries], dtype=np.int64)
    buffer = np.frombuffer(b"".join(data for _, data in entries), dtype=np.uint8)
    offsets = np.cumsum(lengths) - lengths
    return EntryBatch(buffer, 0, ids, offsets, lengths, tuple(faults), address=ids << ENTRY_BITS)


def _fault(one: Hidden) -> Fault:
    at = address_of(one.entry_id)
    return Fault(one.code, at, at, 0, "entry", "the entry", one.found, b"", one.entry_id)
