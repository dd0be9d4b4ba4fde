"""docs/footprint.md lists what there is: what an audit left behind, and each variable that the code names."""

from __future__ import annotations

import re
from pathlib import Path

from tests.auditing import Audited

NEEDS_SPARK = True

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "footprint.md").read_text()
LISTED = set(re.findall(r"`([^`]+)`", PAGE))


def test_an_audit_leaves_nothing_that_is_not_listed(bundled: Audited) -> None:
    left = {path.name + "/" * path.is_dir() for path in bundled.out.iterdir()}
    assert left <= LISTED
    assert {"tables/", "report.html", "result.json"} <= left


def test_every_variable_of_ours_is_listed() -> None:
    named = {
        variable
        for path in (ROOT / "lib").rglob("*.py")
        for variable in re.findall(r'"(PULSAR_BACKLOG_[A-Z_]+[A-Z])"', path.read_text())
    }
    assert named == {name for name in LISTED if re.fullmatch(r"PULSAR_BACKLOG_[A-Z_]+", name)}
    assert len(named) > 4
