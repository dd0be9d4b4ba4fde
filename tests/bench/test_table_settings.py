"""What settings of Parquet are measured to cost: each writes the whole table, and each query finds something in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from bench import table_settings
from tests.auditing import Audited

NEEDS_SPARK = True


def test_each_of_the_settings_is_measured(bundled: Audited, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_settings, "REPETITIONS", 1)
    answers: list[int] = []
    ask = table_settings._ask
    monkeypatch.setattr(table_settings, "_ask", lambda *given: answers.append(ask(*given)))
    files = DeltaTable(str(bundled.out / "tables" / "entries")).file_uris()
    figures = table_settings.measure(files, tmp_path / "entries")
    assert figures.keys() == {one.name for one in table_settings.SETTINGS}
    assert len({tuple(one) for one in figures.values()}) == 1
    assert len(answers) == len(figures) * len(table_settings.QUERIES) and all(answers)
