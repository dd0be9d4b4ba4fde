"""The short way for the overwhelming majority: one publication, one pass, nothing odd.

`publication.fold_publication` comes to the same result; tests hold the two together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from operator import attrgetter

from pulsar_backlog.chunks.extent import ledgers_of, manifest_of, roles_from, span_entries, span_ms
from pulsar_backlog.chunks.publication import initial_decode_state
from pulsar_backlog.chunks.rows import ChunkRow, FamilyFold, Publication, codec
from pulsar_backlog.chunks.sizes import slice_bytes, uncompressed_size_lies
from pulsar_backlog.chunks.sureness import CERTAIN_REASON

_SHARED = attrgetter(
    "publish_time_ms",
    "num_chunks",
    "total_bytes",
    "checksum_state",
    "producer_name",
    "sequence_id",
    "compression",
    "uncompressed_size",
    "encrypted",
    "num_messages_in_batch",
    "metadata_digest",
)
_LENGTH = attrgetter("payload_length")


def is_healthy(ordered: Sequence[ChunkRow]) -> bool:
    """Whether the rows are exactly one undamaged pass of one publication, sizes included."""
    first = ordered[0]
    n = len(ordered)
    if first.num_chunks != n or first.checksum_state != "valid":
        return False
    if first.num_messages_in_batch is not None or not first.chunk_uuid:
        return False
    shared = _SHARED(first)
    for chunk_id, row in enumerate(ordered):
        if row.chunk_id != chunk_id or _SHARED(row) != shared:
            return False
    return _sizes_agree(ordered)


def _sizes_agree(ordered: Sequence[ChunkRow]) -> bool:
    lengths = list(map(_LENGTH, ordered))
    size, last, inner = slice_bytes(ordered[0]), slice_bytes(ordered[-1]), len(ordered) - 1
    if lengths[:inner] != lengths[:1] * inner or not 0 < last <= size:
        return False
    total = size * inner + last
    first = ordered[0]
    return first.total_bytes == total and not uncompressed_size_lies(codec(first), first.uncompressed_size, total)


def fold_healthy(ordered: Sequence[ChunkRow]) -> FamilyFold:
    """Verdict on rows that `is_healthy` has accepted."""
    first, last = ordered[0], ordered[-1]
    n, compression = len(ordered), codec(first)
    spans = first.ledger_id != last.ledger_id
    publication = Publication(
        chunk_uuid=first.chunk_uuid,
        publish_time_ms=first.publish_time_ms,
        producer_name=first.producer_name,
        sequence_id=first.sequence_id,
        state="whole",
        flags=("ledger_span",) if spans else (),
        rebuildable=True,
        sureness="certain",
        reason=CERTAIN_REASON["whole"],
        first_ledger_id=first.ledger_id,
        first_entry_id=first.entry_id,
        last_ledger_id=last.ledger_id,
        last_entry_id=last.entry_id,
        num_chunks=n,
        copies=n,
        present_chunks=n,
        missing_chunk_ids=(),
        missing_chunk_count=0,
        missing_bytes=(),
        total_bytes=first.total_bytes or 0,
        stored_bytes=first.total_bytes or 0,
        uncompressed_bytes=first.uncompressed_size,
        compression=compression,
        encrypted=first.encrypted,
        span_entries=span_entries(ordered),
        span_ms=span_ms(ordered),
        ledgers=ledgers_of(ordered),
        manifest=manifest_of(ordered),
        decode_state=initial_decode_state(compression, first.encrypted, rebuildable=True),
    )
    return FamilyFold((publication,), roles_from(ordered, repeat("used", n)))
