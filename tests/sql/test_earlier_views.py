"""Views keep the columns that they had: queries that people saved go on working."""

from __future__ import annotations

import json
from pathlib import Path

from pulsar_backlog.sql.view_columns import view_columns

EARLIER = Path(__file__).parents[1] / "data" / "earlier" / "views.json"


def test_each_column_of_an_earlier_view_is_there_with_its_type() -> None:
    """A new view, or a column, is added to the file by hand; nothing is taken from it."""
    today = {view: dict(columns) for view, columns in view_columns().items()}
    for view, columns in json.loads(EARLIER.read_text()).items():
        assert columns.items() <= today[view].items(), view
