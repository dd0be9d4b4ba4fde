"""A Delta table as pyarrow reads it where DuckDB does not read the files itself, as in a bucket.

delta-rs makes such a dataset too, but takes a bound that a file's statistics lack for one that no value meets: of files
that say `"minValues": {}`, or have no bounds of a column that is all null, it leaves out rows that are there.
"""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import DeltaTable
from pyarrow.fs import FSSpecHandler, PyFileSystem

from pulsar_backlog.ledgers.buckets.bucket import Bucket
from pulsar_backlog.tableio.bucket_files import BucketFiles
from pulsar_backlog.tableio.bucket_readers import Readers

_MILLISECOND = pa.scalar(timedelta(milliseconds=1))
"""The log has times to the millisecond below."""


def dataset(table: DeltaTable, bucket: Bucket, readers: Readers) -> ds.FileSystemDataset:
    """The files of a table in a bucket, each with what its statistics say of its rows."""
    log = pa.table(table.get_add_actions(flatten=True))
    paths = (unquote(path) for path in log["path"].to_pylist())
    files = BucketFiles(bucket, dict(zip(paths, log["size_bytes"].to_pylist(), strict=True)), readers)
    made = table.to_pyarrow_dataset(filesystem=PyFileSystem(FSSpecHandler(files)))
    promises = _promises(table)
    fragments = [
        made.format.make_fragment(one.path, filesystem=one.filesystem, partition_expression=promises.get(one.path))
        for one in made.get_fragments()
    ]
    return ds.FileSystemDataset(fragments, made.schema, made.format, made.filesystem)


def _promises(table: DeltaTable) -> dict[str, pc.Expression]:
    """What is true of each row of a file, by its path."""
    log = pa.table(table.get_add_actions(flatten=True))
    promises = dict.fromkeys(log["path"].to_pylist(), pc.scalar(True))
    for name in (bound.removeprefix("min.") for bound in log.column_names if bound.startswith("min.")):
        column, highs = pc.field(name), log[f"max.{name}"]
        if pa.types.is_timestamp(highs.type):
            highs = pc.add(highs, _MILLISECOND)
        for path, low, high in zip(log["path"].to_pylist(), log[f"min.{name}"], highs, strict=True):
            if low.is_valid and high.is_valid:
                promises[path] &= (column >= low) & (column <= high) | column.is_null()
    return promises
