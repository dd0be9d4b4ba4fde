"""What tasks leave in files: few row groups, however small the batches that come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from pulsar_backlog.tasks import files
from pulsar_backlog.tasks.files import IntoFiles

SCHEMA = pa.schema([pa.field("number", pa.int64(), nullable=False), pa.field("text", pa.string())])


def rows_of(number: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"number": [number, -number], "text": ["x" * 100, None]}, schema=SCHEMA)


def split(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A batch for each row, as the join of acknowledgements makes one for each subscription and ledger."""
    for batch in batches:
        yield from (rows_of(number) for number in batch.column("number").to_pylist())


def written(tmp_path: Path, numbers: range) -> tuple[list[int], list[int]]:
    """Rows of each row group of the file, and the numbers in it."""
    given = pa.RecordBatch.from_pydict({"number": list(numbers)})
    (answer,) = IntoFiles(split, tmp_path, SCHEMA)([given])
    (path,) = answer.column("path").to_pylist()
    file = parquet.ParquetFile(path)
    groups = [file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)]
    assert file.schema_arrow.equals(SCHEMA)
    return groups, file.read().column("number").to_pylist()


def test_small_batches_are_one_row_group(tmp_path: Path) -> None:
    groups, numbers = written(tmp_path, range(5000))
    assert groups == [10_000]
    assert numbers == [signed for number in range(5000) for signed in (number, -number)]


@pytest.mark.parametrize(("name", "bound"), [("GROUP_ROWS", 6), ("GROUP_BYTES", 400)])
def test_a_row_group_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, bound: int) -> None:
    monkeypatch.setattr(files, name, bound)
    groups, numbers = written(tmp_path, range(7))
    assert len(groups) > 1
    assert sum(groups) == len(numbers) == 14
    assert max(groups) < 14


def test_nothing_is_a_file_without_rows(tmp_path: Path) -> None:
    assert written(tmp_path, range(0)) == ([], [])
