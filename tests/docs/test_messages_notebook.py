"""The notebook about messages runs on the bundled backlog, cell after cell, without an audit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "messages.ipynb"


def test_every_cell_about_messages_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] for cell in cells)
    names: dict[str, Any] = {}
    for cell in cells:
        exec(compile("".join(cell["source"]), str(NOTEBOOK), "exec"), names)
    assert {"single", "whole"} <= set(names["messages"]["state"])
    assert {state for state, _, _ in names["sizes"]} >= {"single", "batch", "whole"}
    assert all(row["reason"] for row in names["broken"])
