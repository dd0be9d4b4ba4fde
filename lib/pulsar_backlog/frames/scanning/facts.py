"""Facts of entries that lie in `entries` already: for tables that Spark's own writer fills, and for rewritten slices.

The same folds run over the rows in the order of each ledger. What they give goes through one frame for all tables, as
packed Arrow rows, so that the entries are read once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.accumulators import Accumulator
from pyspark.sql import DataFrame

from pulsar_backlog.facts.digest import DIGESTED
from pulsar_backlog.facts.stretch import COLUMNS
from pulsar_backlog.frames.packed import PACKED_DDL, packed
from pulsar_backlog.frames.scanning.scan import ByKey
from pulsar_backlog.scanning.fact_runs import FactRuns, Runs
from pulsar_backlog.tables import TABLES
from pulsar_backlog.workers import quiet


def packed_facts(entries: DataFrame, cluster: str) -> tuple[DataFrame, Accumulator[Runs]]:
    """Rows of the fact tables, packed by table; the accumulator has the facts of ledgers once all rows were made."""
    runs: Accumulator[Runs] = entries.sparkSession.sparkContext.accumulator({}, ByKey())

    def fold(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        facts = FactRuns(cluster, runs.add)
        for batch in batches:
            for of_ledger in _ledgers(batch):
                yield from packed(facts.add(of_ledger))
        yield from packed(facts.end())

    names = set(COLUMNS) | set(DIGESTED) | set(TABLES["noted_entries"].column_names()) | {"encryption_keys"}
    wanted = entries.select(*(name for name in entries.columns if name in names))
    ordered = wanted.repartition("ledger_id").sortWithinPartitions("ledger_id", "entry_id")
    return ordered.mapInArrow(quiet(fold), PACKED_DDL), runs


def _ledgers(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch cut where the ledger changes."""
    changes = np.flatnonzero(np.diff(batch.column("ledger_id").to_numpy())) + 1
    for start, stop in zip([0, *changes.tolist()], [*changes.tolist(), batch.num_rows], strict=True):
        if stop > start:
            yield batch.slice(start, stop - start)
