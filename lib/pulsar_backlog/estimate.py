"""What an audit will read, ask for, cost and take, before it begins: a listing, and a few ledgers read to measure.

No Spark, and no index opened but the sample's, however many objects there are.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from pulsar_backlog.errors import UsageError
from pulsar_backlog.ledgers.buckets.addresses import is_bucket
from pulsar_backlog.ledgers.copies import Pair
from pulsar_backlog.ledgers.inventory import ClusterRecords, settle
from pulsar_backlog.ledgers.listing import Listing, take_listing
from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.ledgers.storage_kinds import STORAGE_KINDS
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.survey import THREADS, survey
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.ledgers.values import LedgerCopy, ScanUnit
from pulsar_backlog.output.data_files import FolderPlace, write_data_files
from pulsar_backlog.report.terminal.estimated import Estimate, Measured
from pulsar_backlog.scanning.fact_runs import ROW_TABLES, with_facts
from pulsar_backlog.scanning.unit import scan_unit
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.tasks.cores import cores

PAGE_OBJECTS = 1000
"""Objects that one answer of a listing holds; Azure gives more."""
OFFLOAD_BLOCK_BYTES = 64 * 1024 * 1024
"""A block of the offloader, unless it is told otherwise."""
SAMPLE_LEDGERS = 16
START_SECONDS = 10
"""What an audit of up to some ten million entries takes besides reading, on two cores: its start, the jobs behind the
scan, the report. Measured: 6 s of 10 million entries; one of the bundled backlog takes 6 to 8 s in all."""
BIT = 256 * 1024
"""A unit of at least so many bytes tells a rate."""


@dataclass(frozen=True)
class Prices:
    """What requests and bytes cost, in one currency.

    Attributes:
        per_1000_gets: requests that read an object.
        per_1000_lists: requests that list.
        per_gb: 10^9 bytes that leave the store; nothing within a region, as a rule.
    """

    per_1000_gets: float = 0.0004
    per_1000_lists: float = 0.005
    per_gb: float = 0.0


def estimate(source: Source, scope: Scope, prices: Prices, sample_bytes: int, processes: int | None = None) -> Estimate:
    """List a source, measure a sample, and say what an audit needs.

    Args:
        source: where the ledgers lie.
        scope: ledgers by id; what needs an index to be opened is not looked at.
        prices: of the bucket.
        sample_bytes: how much is read to measure, at most; at least one unit is.
        processes: that the audit has; None for the processors of this machine.

    Raises:
        UsageError: the source does not exist, or holds no ledger in scope that has data.
    """
    listing = take_listing(source)
    pairs = [pair for pair in listing.pairs if scope.holds_id(pair.ledger_id)]
    read = _one_of_each(pairs)
    if not read:
        is_other = listing.logs or listing.streams
        words = "; files of bookies and objects of streaming offload are not estimated" if is_other else ""
        raise UsageError(f"{source.source} holds no offloaded ledger with data, or none within --ledger{words}")
    measured = measure(source, _spread(read), sample_bytes)
    is_remote = is_bucket(source.source)
    objects = _objects(listing)
    data_bytes, index_bytes = sum(_size(pair) for pair in read), sum(pair.index.size for pair in pairs if pair.index)
    lists = math.ceil(objects / PAGE_OBJECTS) if is_remote else 0
    gets = _gets(source, pairs, read, measured.block_bytes or OFFLOAD_BLOCK_BYTES) if is_remote else 0
    cost = (gets * prices.per_1000_gets + lists * prices.per_1000_lists) / 1000
    cost += (data_bytes + index_bytes) / 1e9 * prices.per_gb
    processes = processes or cores()
    seconds = None
    if measured.data_bytes:
        scan = data_bytes * measured.seconds / measured.data_bytes / processes
        seconds = START_SECONDS + scan + len(pairs) * measured.look_seconds / THREADS
    return Estimate(
        objects=objects, ledgers=len(read), copies=len(pairs),
        other_objects=listing.foreign.count + len(listing.streams), unreadable=len(listing.unreadable),
        data_bytes=data_bytes, index_bytes=index_bytes, lists=lists, gets=gets, cost=cost if is_remote else None,
        processes=processes, seconds=seconds, measured=measured,
    )  # fmt: skip


def measure(source: Source, pairs: Sequence[Pair], sample_bytes: int) -> Measured:
    """Examine these copies, and scan pieces of them as a task does, tables written to a folder that goes away."""
    survey(source, Listing(pairs=[pairs[0]]))  # compiles, and opens connections; not measured
    began = time.perf_counter()
    surveyed = survey(source, Listing(pairs=list(pairs)))
    look_seconds = (time.perf_counter() - began) * min(THREADS, len(pairs)) / len(pairs)
    copies = [copy for copy in settle(surveyed, ClusterRecords({}, {})).copies if copy.blocks]
    units = list(_within(copies, sample_bytes))
    blocks = [
        block.length for copy in copies for block in copy.blocks[:-1] if STORAGE_KINDS[copy.kind].has_equal_blocks
    ]
    _scan(source, sorted(units, key=_length)[:1])  # compiles
    began = time.perf_counter()
    entries = _scan(source, units)
    seconds = time.perf_counter() - began
    data_bytes = sum(map(_length, units)) if entries else 0  # blocks that an index names and nobody has
    return Measured(len(units), data_bytes, entries, seconds, look_seconds, max(blocks, default=None))


def _scan(source: Source, units: Sequence[ScanUnit]) -> int:
    """Entries of units, read, decoded and written as a task of the scan does."""
    entries, schema = 0, arrow_schema(TABLES["entries"])

    def batches() -> Iterator[tuple[str, pa.RecordBatch]]:
        nonlocal entries
        for unit in units:
            for piece in scan_unit(source, unit, "estimate", schema):
                entries += piece.account.decoded
                if piece.batch is not None:
                    yield "entries", piece.batch

    with tempfile.TemporaryDirectory(prefix="pulsar-backlog-estimate-") as folder:
        tables = {
            name: (FolderPlace(Path(folder), name), arrow_schema(TABLES[name]), TABLES[name])
            for name in ("entries", *ROW_TABLES)
        }
        for _ in write_data_files(with_facts(batches(), "estimate", lambda _: None), tables):
            pass
    return entries


def _within(copies: Sequence[LedgerCopy], sample_bytes: int) -> Iterator[ScanUnit]:
    """A unit of each copy, as far as the bytes go; the first one is read however large it is."""
    room = sample_bytes
    unit_bytes = max(BIT, sample_bytes // max(1, len(copies)))
    for number, copy in enumerate(copies):
        unit = next(units_of(copy, unit_bytes), None)
        if unit is not None and (not number or _length(unit) <= room):
            room -= _length(unit)
            yield unit


def _one_of_each(pairs: Sequence[Pair]) -> list[Pair]:
    """The largest copy of each ledger: only one of several is read."""
    largest: dict[int, Pair] = {}
    for pair in pairs:
        if pair.data is not None and _size(pair) >= _size(largest.get(pair.ledger_id, pair)):
            largest[pair.ledger_id] = pair
    return list(largest.values())


def _spread(pairs: Sequence[Pair]) -> list[Pair]:
    """Some of them, evenly from the oldest to the newest."""
    count = min(SAMPLE_LEDGERS, len(pairs))
    return [pairs[(2 * number + 1) * len(pairs) // (2 * count)] for number in range(count)]


def _objects(listing: Listing) -> int:
    of_pairs = sum(bool(part) for pair in listing.pairs for part in (pair.data, pair.index, pair.checksums))
    return of_pairs + listing.foreign.count + len(listing.streams)


def _gets(source: Source, pairs: Sequence[Pair], read: Sequence[Pair], block_bytes: int) -> int:
    """Requests for objects: indexes, block headers of ledgers with several blocks, and data by ranges."""
    indexes = len(pairs)  # of a copy without one its data object is asked for user metadata
    headers = sum(math.ceil(_size(pair) / block_bytes) for pair in pairs if not pair.index or _size(pair) > block_bytes)
    data = sum(math.ceil(_size(pair) / source.access.range_bytes) for pair in read)
    return indexes + headers + data


def _size(pair: Pair) -> int:
    return pair.data.size if pair.data else 0


def _length(unit: ScanUnit) -> int:
    return sum(block.length for block in unit.blocks)
