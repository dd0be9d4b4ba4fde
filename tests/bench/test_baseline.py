"""The plain way makes the rows that the scan makes: what they are compared in is equal work."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from bench import baseline_pyspark, subjects
from bench.generate import Spec, write_backlog
from pulsar_backlog.scanning.unit import scan_unit
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.tables.entries import TABLE


def test_rows_of_the_plain_way_are_those_of_the_scan(tmp_path: Path) -> None:
    written = write_backlog(Spec(300, entry_bytes=200, chunk_share=0.2, properties=2), tmp_path)
    backlog = subjects.Backlog(tmp_path, written.entries, written.data_bytes)
    schema = arrow_schema(TABLE)
    pieces = [piece for unit in backlog.units() for piece in scan_unit(backlog.source, unit, subjects.CLUSTER, schema)]
    ours = pa.Table.from_batches([piece.batch for piece in pieces if piece.batch is not None], schema)
    frames = [
        pa.Table.from_pandas(frame, schema, preserve_index=False)
        for unit in baseline_pyspark.find_units(tmp_path)
        for frame in baseline_pyspark.read_unit(tmp_path, unit, subjects.CLUSTER)
    ]
    assert ours.num_rows == written.entries
    assert pa.concat_tables(frames).to_pylist() == ours.to_pylist()
