"""What `sql` prints of a query, and the engines that both are asked the same."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, get_args

import pytest
from rich.console import Console

from pulsar_backlog.sql.query import Engine, run_query

both = pytest.mark.parametrize("engine", get_args(Engine))


def printed(out: Path | str, query: str, engine: Engine = "duckdb", **given: Any) -> str:
    """What is printed, of a width that nothing is cut to.

    Args:
        out: folder or bucket with the tables.
        query: in SQL.
        engine: that answers.
        given: `endpoint`, `form` and `dialect` as `run_query` has them; all else is the console's.
    """
    said = io.StringIO()
    asked = {name: given.pop(name) for name in ("endpoint", "form", "dialect") if name in given}
    run_query(str(out), query, Console(**{"file": said, "width": 400, **given}), engine, **asked)
    return said.getvalue()
