"""The kept audit is that of this code: whatever it depends on has a part in its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kept_audit import state_of


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    for name in ("lib/a.py", "lib/room/b.py", "jobs/j.py", "conf/sql/v.sql", "tests/data/backlog/objects/o"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("1234")
    for name in ("pipelines.yaml", "requirements/runtime.txt", "tests/auditing.py", "tests/conftest.py"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("1234")
    return root


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "lib" / "room" / "b.py").write_text("1235"),
        lambda root: (root / "conf" / "sql" / "v.sql").unlink(),
        lambda root: (root / "jobs" / "j.py").rename(root / "jobs" / "k.py"),
        lambda root: (root / "tests" / "data" / "backlog" / "objects" / "new").touch(),
        lambda root: (root / "requirements" / "runtime.txt").write_text("pyspark==9"),
        lambda root: [(root / "lib" / "a.py").write_text("12"), (root / "lib" / "room" / "b.py").write_text("341234")],
    ],
)
def test_what_the_audit_depends_on_is_in_its_name(checkout: Path, change: Callable[[Path], object]) -> None:
    before = state_of(checkout)
    assert state_of(checkout) == before
    change(checkout)
    assert state_of(checkout) != before


def test_another_checkout_has_another(checkout: Path) -> None:
    before = state_of(checkout)
    moved = checkout.rename(checkout.with_name("other"))
    assert state_of(moved) != before  # tables hold the place of the backlog


def test_what_python_compiled_is_no_part_of_it(checkout: Path) -> None:
    before = state_of(checkout)
    (checkout / "lib" / "__pycache__").mkdir()
    (checkout / "lib" / "__pycache__" / "a.pyc").touch()
    assert state_of(checkout) == before
