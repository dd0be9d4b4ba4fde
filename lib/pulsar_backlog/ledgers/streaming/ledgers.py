"""Ledgers in objects of streaming offload: each in all objects that hold some of it.

The metadata of a managed ledger name the objects of a ledger as segments, and no admin JSON shows those. So all objects
of the source that hold entries of a ledger are one copy of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.copies import Examined, Pair, Problem, with_version
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.stored_objects import StoredObject
from pulsar_backlog.ledgers.streaming.index import IndexedLedger
from pulsar_backlog.ledgers.streaming.objects import StreamFound
from pulsar_backlog.ledgers.values import Block, ScanUnit
from pulsar_backlog.ledgers.walk import walk_unit
from pulsar_backlog.wire.ledger_metadata import LedgerMetadata

COPY = "streaming"
"""What stands for the offload attempt's UUID: a ledger may lie in several objects."""


def streamed_ledgers(
    source: Source, streams: Sequence[StreamFound], ledgers: Collection[int] | None = None
) -> Iterator[Examined]:
    """Each ledger in all objects that hold some of it, by id."""
    by_ledger: dict[int, list[StreamFound]] = {}
    for one in streams:
        for ledger_id in one.ledgers:
            by_ledger.setdefault(ledger_id, []).append(one)
    for ledger_id in sorted(by_ledger):
        if ledgers is None or ledger_id in ledgers:
            yield _ledger(source, ledger_id, by_ledger[ledger_id])


def _ledger(source: Source, ledger_id: int, streams: list[StreamFound]) -> Examined:
    problems = [problem for one in streams for problem in one.problems]
    try:
        blocks = _settled(source, ledger_id, [one.runs[ledger_id] for one in streams if ledger_id in one.runs])
    except SourceError as error:
        blocks = ()
        problems.append(Problem("S02", str(error), error.uri, incomplete=True))
    written = [stored.modified_ms for one in streams for stored in one.objects if stored.modified_ms is not None]
    data = _joined([one.data for one in streams if one.data], sum(b.length for b in blocks), min(written, default=None))
    indexes = [one.index_object for one in streams if one.index_object]
    index = _joined(indexes, sum(one.size for one in indexes), max(written, default=None))
    indexed = [one.indexed[ledger_id] for one in streams if ledger_id in one.indexed]
    user_metadata = {key: value for one in streams for key, value in one.user_metadata.items()}
    examined = Examined(
        Pair(ledger_id, COPY, data, index, "streaming"),
        has_index=bool(indexed),
        metadata=_metadata(indexed),
        user_metadata=user_metadata,
        blocks=blocks,
        problems=tuple(problems),
        faults=tuple(fault for one in streams for fault in one.faults),
    )
    return with_version(examined)


def _settled(source: Source, ledger_id: int, runs: list[list[Block]]) -> tuple[Block, ...]:
    """All blocks of a ledger by first id; where they may overlap, each with its last id.

    Args:
        source: where they lie.
        ledger_id: ledger.
        runs: blocks of each object, by place.
    """
    alone = len(runs) < 2 and all(a.first_entry_id < b.first_entry_id for run in runs for a, b in pairwise(run))
    settled = []
    for run in runs:
        for number, block in enumerate(run):
            following = run[number + 1].first_entry_id if number + 1 < len(run) else None
            if following is not None and following > block.first_entry_id:
                last = None if alone else following - 1
                settled.append(replace(block, entry_count=following - block.first_entry_id, last_entry_id=last))
            else:
                settled.append(block if alone else _with_last(source, ledger_id, block))
    return tuple(sorted(settled, key=lambda one: (one.first_entry_id, one.uri or "", one.offset)))


def _with_last(source: Source, ledger_id: int, block: Block) -> Block:
    """A block with the last entry id that is in it: only its entries tell.

    Raises:
        SourceError: it cannot be read.
    """
    unit = ScanUnit(ledger_id, COPY, None, block.uri or "", 0, (block,), "streaming")
    last = max((int(batch.entry_id[-1]) for batch in walk_unit(source, unit) if len(batch.entry_id)), default=None)
    return replace(block, last_entry_id=block.first_entry_id if last is None else max(last, block.first_entry_id))


def _joined(objects: list[StoredObject], size: int, modified_ms: int | None) -> StoredObject | None:
    """Several objects as one: the first one's name, and a tag of all."""
    if len(objects) < 2:
        return replace(objects[0], size=size, modified_ms=modified_ms) if objects else None
    tags = "\0".join(f"{one.path}\0{one.size}\0{one.etag}" for one in objects)
    etag = hashlib.sha256(tags.encode(errors="surrogateescape")).hexdigest()[:32]
    return StoredObject(objects[0].path, size, etag, modified_ms)


def _metadata(indexed: list[IndexedLedger]) -> LedgerMetadata | None:
    """What an index says that was written when the ledger had ended, as the ledger's own metadata would; else None."""
    closed = [one for one in indexed if one.size_bytes is not None and one.entries is not None]
    if not closed:
        return None
    longest = max(closed, key=lambda one: one.entries or 0)
    return LedgerMetadata(
        write_quorum=0, ensemble_size=0, ack_quorum=None, length_bytes=longest.size_bytes or 0,
        last_entry_id=(longest.entries or 0) - 1, state="CLOSED", digest_type=None, created_ms=None, custom=(),
    )  # fmt: skip
