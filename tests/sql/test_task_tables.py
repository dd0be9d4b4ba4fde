"""Tables that tasks write: each file by the task itself, and by Spark's writer where tables are Spark's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.sql import engines
from pulsar_backlog.sql.task_rows import TaskRows
from pulsar_backlog.sql.task_tables import Making, replace_by_tasks
from pulsar_backlog.tableio import table_logs
from tests.auditing import rows_of
from tests.engines import ENGINES, asked_of, job_context
from tests.frames.rows import table_rows

NEEDS_SPARK = True

NAMES = ("chunks", "topic_stats")


def making() -> Making:
    """A row of each table for each row, by its entry id; statistics of the first two only."""

    def make(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
        for row in (row for batch in batches for row in batch.to_pylist()):
            rows = [("chunks", {"topic": row["topic"], "entry_id": row["entry_id"]})]
            rows += [("topic_stats", {"topic": f"{row['entry_id']}"})] if row["entry_id"] < 2 else []
            for name, given in rows:
                (made,) = table_rows(name, [{"cluster": "c", **given}]).to_batches()
                yield name, made

    return make  # not one of this module, which tasks cannot import


@pytest.mark.parametrize("counted", [None, "(SELECT 1 FROM range(5000))"])  # more than there are: tasks without rows
@pytest.mark.parametrize(("engine", "is_own"), [*((engine, True) for engine in ENGINES), ("spark", False)])
def test_rows_of_several_tables_replace_those_of_the_cluster(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, is_own: bool, counted: str | None
) -> None:
    if not is_own:
        monkeypatch.setattr(table_logs, "tasks_share_disk", lambda: False)
        monkeypatch.setattr(engines, "tasks_share_disk", lambda: False)
    context = job_context(spark, tmp_path)
    task_rows = TaskRows("SELECT topic, entry_id FROM chunks", ("topic",), ("entry_id",), counted)
    for entry_ids in ([7], [2, 0, 1]):
        given = table_rows("chunks", [{"cluster": "c", "topic": "t", "entry_id": one} for one in entry_ids])
        with context.resources, asked_of(engine, context, {"chunks": given}) as asked:
            counts = replace_by_tasks(context, asked, task_rows, making(), NAMES)
    assert counts == {"chunks": 3, "topic_stats": 2}
    assert [row["entry_id"] for row in rows_of(tmp_path, "chunks")] == [0, 1, 2]
    assert [row["topic"] for row in rows_of(tmp_path, "topic_stats")] == ["0", "1"]
