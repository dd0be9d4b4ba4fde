"""A scan unit of a live ledger as batches: entries as the broker sends them, and faults for those it does not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.entry_batch import EntryBatch
from pulsar_backlog.ledgers.faults import Fault
from pulsar_backlog.ledgers.live.values import ENTRY_BITS, Hidden, Sent, address_of
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.values import ScanUnit

_MAX_ENTRIES = 16_384


def walk_unit(
    source: Source, unit: ScanUnit, window_bytes: int, first_bytes: int | None = None
) -> Iterator[EntryBatch]:
    """The unit's entries in order, in batches of about `window_bytes`.

    Raises:
        SourceError: they cannot be read to the last one.
    """
    del first_bytes  # brokers send as much as is asked for
    if not unit.blocks:
        return
    counts = [block.entry_count or 0 for block in unit.blocks]
    first, last = unit.blocks[0].first_entry_id, unit.blocks[-1].first_entry_id + counts[-1] - 1
    average = sum(block.length for block in unit.blocks) // max(1, sum(counts))
    sent: list[Sent] = []
    faults: list[Fault] = []
    size = count = 0
    end: SourceError | None = None
    try:
        for one in source.live_place.stretches(unit.path, first, last, average):
            if isinstance(one, Hidden):
                faults.append(_fault(one))
            else:
                sent.append(one)
                size += one.buffer.size
                count += len(one)
            if size >= window_bytes or count + len(faults) >= _MAX_ENTRIES:
                yield _batch(sent, faults)
                sent, faults, size, count = [], [], 0, 0
    except SourceError as error:
        end = error  # first what was read until then
    if sent or faults:
        yield _batch(sent, faults)
    if end is not None:
        raise end


def _batch(sent: list[Sent], faults: list[Fault]) -> EntryBatch:
    """Buffers behind one another; between entries lies what the frames of the protocol put there."""
    if not sent:
        return EntryBatch.of_faults(tuple(faults))
    starts = np.cumsum([0, *(one.buffer.size for one in sent[:-1])])
    ids = np.concatenate([one.first + np.arange(len(one)) for one in sent])
    offsets = np.concatenate([one.offset + start for one, start in zip(sent, starts, strict=True)])
    lengths = np.concatenate([one.length for one in sent])
    buffer = np.concatenate([one.buffer for one in sent])
    return EntryBatch(buffer, 0, ids, offsets, lengths, tuple(faults), address=ids << ENTRY_BITS)


def _fault(one: Hidden) -> Fault:
    at = address_of(one.entry_id)
    return Fault(one.code, at, at, 0, "entry", "the entry", one.found, b"", one.entry_id)
