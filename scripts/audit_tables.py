"""Tables of two audits of one source, in folders or buckets, held against each other row by row."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa

from pulsar_backlog.errors import SourceError
from pulsar_backlog.tableio.beside import beside
from pulsar_backlog.tableio.bucket_readers import readers
from pulsar_backlog.tableio.delta_dataset import dataset
from pulsar_backlog.tableio.delta_rs import open_table, table_bucket
from pulsar_backlog.tableio.places import local_out
from pulsar_backlog.tables import TABLES
from scripts.compare_audits import NOT_COMPARED, SHOWN, texts_of


def table_at(out: str, name: str) -> pa.Table | None:
    """A table in a folder or a bucket, whole; None where there is none."""
    table = open_table(out, TABLES[name])
    if table is None:
        return None
    if local_out(out) is not None:
        return table.to_pyarrow_table()
    with readers() as reading:
        return dataset(table, table_bucket(out, TABLES[name]), reading).to_table()


def differences(one: str, other: str) -> Iterator[str]:
    """What two audits of one source do not have in common, in words."""
    for name in sorted(TABLES.keys() - NOT_COMPARED):
        tables = [table_at(out, name) for out in (one, other)]
        here, there = (texts_of(table) if table is not None else None for table in tables)
        if here is None or there is None:
            if here is not there:
                yield f"{name}: only in {one if there is None else other}"
            continue
        gone, new = here - there, there - here
        if gone or new:
            yield f"{name}: rows gone: {gone.total()}, new: {new.total()}"
            yield from (f"  - {row}" for row in sorted(gone)[:SHOWN])
            yield from (f"  + {row}" for row in sorted(new)[:SHOWN])
    if (before := _counts(one)) != (after := _counts(other)):
        yield f"result.json: counts {before} and {after}"


def _counts(out: str) -> object:
    """Of result.json; None where there is none, as pipelines without a report leave it."""
    try:
        return json.loads(beside(out).read("result.json"))["counts"]
    except (SourceError, FileNotFoundError):
        return None
