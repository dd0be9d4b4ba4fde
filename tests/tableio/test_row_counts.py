"""Rows of ledgers that are not gone, counted by statistics: as many as the rows themselves say."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, WriterProperties, write_deltalake

from pulsar_backlog.errors import UsageError
from pulsar_backlog.tableio.local_log import LocalLog
from pulsar_backlog.tableio.row_counts import living_row_count

FILES = ([20, 20, 20, 20], [1, 1, 2, 2, 2, 4], [5, 6, 7, 8, 9, 9], [8])
GROUPS = WriterProperties(max_row_group_size=2)
"""Groups of one ledger, of two, and of ids that lie around others."""
GONE: tuple[list[int], ...] = ([], [20], [3], [1, 2], [2], [4, 5, 9], [6, 8], [7], [10], [0], [*range(21)])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Files of one cluster, and the same of another one."""
    for cluster in ("demo", "eu"):
        for ids in FILES:
            rows = pa.table({"cluster": [cluster] * len(ids), "topic": ["t"] * len(ids), "ledger_id": ids})
            write_deltalake(tmp_path / "table", rows, mode="append", writer_properties=GROUPS)
    return tmp_path / "table"


def without_bounds(table: Path) -> None:
    """As a writer leaves it that gives bounds of the cluster alone."""
    for commit in (table / "_delta_log").glob("*.json"):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for add in (action["add"] for action in actions if "add" in action):
            stats = json.loads(add["stats"])
            for bound in ("minValues", "maxValues"):
                del stats[bound]["ledger_id"]
            add["stats"] = json.dumps(stats)
        commit.write_text("".join(json.dumps(action) + "\n" for action in actions))


@pytest.mark.parametrize("has_bounds", [True, False])
def test_as_many_as_the_rows_say(table: Path, has_bounds: bool) -> None:
    if not has_bounds:
        without_bounds(table)
    log = LocalLog(table)
    for gone in GONE:
        expected = sum(id_ not in gone for ids in FILES for id_ in ids)
        assert living_row_count(log, "demo", frozenset(gone)) == expected, gone
        assert living_row_count(log, "nobody", frozenset(gone)) == 0


def test_files_are_read_only_where_their_bounds_do_not_tell(table: Path) -> None:
    for file in DeltaTable(table).file_uris():
        Path(file).unlink()
    log = LocalLog(table)
    assert living_row_count(log, "demo", frozenset([10, 20])) == 13
    with pytest.raises(UsageError, match="is damaged or gone"):
        living_row_count(log, "demo", frozenset([2]))
