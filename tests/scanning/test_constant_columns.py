"""Columns that are the same in all rows of a batch: of a large one the beginning of one that is made once."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pulsar_backlog.scanning.unit import BATCH_ENTRIES, _constant

DICTIONARY = pa.dictionary(pa.int32(), pa.string())


@pytest.mark.parametrize("n", [1, BATCH_ENTRIES // 2, BATCH_ENTRIES // 2 + 1, BATCH_ENTRIES])
@pytest.mark.parametrize(
    ("value", "kind"), [(None, pa.int64()), (None, DICTIONARY), (7, pa.int64()), ("a", DICTIONARY), ("a", pa.string())]
)
def test_each_row_has_the_value(n: int, value: object, kind: pa.DataType) -> None:
    column = _constant(value, kind, n)
    column.validate(full=True)
    assert (column.type, len(column)) == (kind, n)
    assert set(column.to_pylist()) == {value}
    assert column.get_total_buffer_size() <= 2 * 9 * n + 64, "rows hold on to at most twice their memory"
