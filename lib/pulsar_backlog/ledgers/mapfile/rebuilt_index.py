"""The index of a MapFile made again from its data, as `MapFile.Writer` would have made it.

A pair for the first record and, from then on, for each that is `USUAL_INTERVAL` records behind the last pair and does
not begin in the same block. Data with any fault get no index: it would hide the fault.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace

from pulsar_backlog.cluster.values import LedgerRecord
from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.copies import Pair
from pulsar_backlog.ledgers.entry_batch import EntryBatch
from pulsar_backlog.ledgers.mapfile import kernel
from pulsar_backlog.ledgers.mapfile.checksums import Checksums
from pulsar_backlog.ledgers.mapfile.copies import examine
from pulsar_backlog.ledgers.mapfile.header import BYTES_WRITABLE, Header
from pulsar_backlog.ledgers.mapfile.index import USUAL_INTERVAL, decode_index, encode_index
from pulsar_backlog.ledgers.mapfile.peek import PEEK_BYTES, peek
from pulsar_backlog.ledgers.mapfile.reading import Window, read_header
from pulsar_backlog.ledgers.mapfile.walk import METADATA_ID, walk_unit
from pulsar_backlog.ledgers.rebuilt_index import RebuiltIndex, refused
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.stored_objects import StoredObject
from pulsar_backlog.ledgers.values import Block, ScanUnit

_NO_INDEX = "S05"
_VALUE_HEAD_BYTES = kernel.RECORD_HEAD_BYTES + kernel.KEY_BYTES + kernel.LENGTH_BYTES


def rebuild_index(source: Source, pair: Pair, broker: LedgerRecord | None) -> RebuiltIndex:
    """The index of a copy, from its data; every pair is looked up in them afterwards.

    Args:
        source: where the copy lies; it is only read.
        pair: the copy; what index it has is not looked at.
        broker: what saved admin JSON says of the ledger, or None.

    Raises:
        SourceError: the data are missing, cannot be read, are damaged, or are not what the metadata or broker promise.
    """
    data = pair.data
    if data is None:
        raise SourceError(pair.index.path if pair.index else "", "not_found", "there is no data file to index")
    attempt = examine(source, replace(pair, index=None))
    if wrong := [problem for problem in attempt.problems if problem.code != _NO_INDEX]:
        raise refused(source, data, f"{wrong[0].code}: {wrong[0].message}")
    header = read_header(source, data.path, BYTES_WRITABLE)
    pairs = [(METADATA_ID, header.length)]
    entries = entry_bytes = last_count = 0
    for batch in _batches(source, pair, data, attempt.blocks):
        for at in range(len(batch.entry_id)):
            position = _begin(batch, at)
            if entries + 1 >= last_count + USUAL_INTERVAL and position > pairs[-1][1]:
                pairs.append((int(batch.entry_id[at]), position))
                last_count = entries + 1
            entries += 1
        entry_bytes += int(batch.length.sum())
    promised = [(attempt.expected_entries, attempt.expected_bytes, "the ledger metadata promise")]
    promised += [(broker.entries, broker.size_bytes, "the broker records")] if broker else []
    for their_entries, their_bytes, who in promised:
        if (their_entries or entries, their_bytes or entry_bytes) != (entries, entry_bytes):
            words = f"{who} {their_entries} entries of {their_bytes} bytes, it holds {entries} of {entry_bytes}"
            raise refused(source, data, words)
    body = encode_index(pairs, hashlib.sha256(pair.copy.encode()).digest()[:16])
    _check(source, data, header, body, pairs)
    return RebuiltIndex(body, len(pairs), entries, entry_bytes, ())


def _batches(source: Source, pair: Pair, data: StoredObject, blocks: tuple[Block, ...]) -> Iterator[EntryBatch]:
    checksums = pair.checksums.path if pair.checksums else None
    for number, block in enumerate(blocks):
        unit = ScanUnit(pair.ledger_id, pair.copy, None, data.path, number, (block,), "filesystem", checksums)
        for batch in walk_unit(source, unit):
            if batch.faults:
                fault = batch.faults[0]
                words = f"{fault.code} at byte {fault.offset}: expected {fault.expected}, found {fault.found}"
                raise refused(source, data, words)
            yield batch


def _begin(batch: EntryBatch, at: int) -> int:
    """Where the record of an entry begins, or the block that holds it."""
    if batch.compressed is not None:
        return int(batch.compressed.offset[at])
    return batch.base + int(batch.offset[at]) - _VALUE_HEAD_BYTES


def _check(source: Source, data: StoredObject, header: Header, body: bytes, pairs: list[tuple[int, int]]) -> None:
    """Look up every pair of the index's bytes in the data."""
    index = decode_index(body)
    if index.is_cut or list(zip(index.keys.tolist(), index.positions.tolist(), strict=True)) != pairs:
        raise RuntimeError("the index that was made does not decode to what it was made of")
    window = Window(source, data.path, 0, data.size, PEEK_BYTES, Checksums(source, None, 0, 0))
    for key, position in pairs:
        record = peek(header, window, position)
        if record is None or not record.key <= key < record.key + record.records:
            raise refused(source, data, f"entry {key} is not at byte {position} any more")
