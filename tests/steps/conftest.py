"""What tests of steps share."""

from __future__ import annotations

import pytest

from pulsar_backlog.tableio import table_cache


@pytest.fixture(params=["cached", "by Spark"])
def row_source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the rows of small tables come from: this process's cache, or, as if they were large, Spark."""
    if request.param == "by Spark":
        monkeypatch.setattr(table_cache, "MAX_ROWS", -1)
    table_cache.clear()
    return str(request.param)
