"""Rules of CONTRIBUTING.md that a count can hold: how long a page and a module may be."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_LINES = {"jobs": 120, "lib": 300}


@pytest.mark.parametrize("folder", MOST_LINES)
def test_a_file_is_no_longer_than_the_rule_says(folder: str) -> None:
    lines = {
        path: len(path.read_text().splitlines()) for path in (ROOT / folder).rglob("*.py") if "_pb2" not in path.name
    }
    assert lines
    assert {str(path.relative_to(ROOT)): count for path, count in lines.items() if count > MOST_LINES[folder]} == {}


def test_no_two_test_modules_have_one_name() -> None:
    # pytest takes the second for the first and refuses it; folders that are packages have names of their own
    modules = [path for path in (ROOT / "tests").rglob("test_*.py") if not (path.parent / "__init__.py").exists()]
    times = Counter(path.name for path in modules)
    assert [name for name, count in times.items() if count > 1] == []
