"""The notebook runs on the bundled audit, cell after cell, and shows what its words promise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.auditing import Audited

NEEDS_SPARK = True

NOTEBOOK = Path(__file__).parents[2] / "examples" / "tour.ipynb"


def test_every_cell_runs(
    bundled: Audited, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "demo-out").symlink_to(bundled.out)
    monkeypatch.chdir(tmp_path)
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 6
    assert all(cell["outputs"] == [] for cell in cells)  # what it shows depends on the audit
    names: dict[str, Any] = {}
    for cell in cells:
        exec(compile("".join(cell["source"]), str(NOTEBOOK), "exec"), names)
    said = capsys.readouterr().out
    assert bundled.result["verdict"]["headline"] in said
    assert "pulsar-backlog repair plan" in said
    assert {"acknowledge", "export_then_acknowledge"} <= set(names["mine"]["action"])
    assert {"whole", "orphan_prefix"} <= set(names["messages"]["state"])
    assert len(names["chunks"]) >= 6
