"""Files of tests that need the Spark session say `NEEDS_SPARK = True`; who collects them holds them to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LANES = (
    *("airflow", "broker", "broker5", "browser", "monitoring", "several_consumers", "spark_cluster", "stores"),
    "versions",
)
"""Folders whose files `make test` does not run."""
_SAYS = re.compile(r"^NEEDS_SPARK = True$", re.MULTILINE)


@cache
def needs_spark(file: str) -> bool:
    """Whether a test file, by its path from the root, says that it needs the session."""
    return _SAYS.search((ROOT / file).read_text()) is not None


def session_uses(items: Iterable[pytest.Item]) -> dict[str, bool]:
    """By file from the root: whether any of its tests asks for the session, be it by another fixture."""
    uses: dict[str, bool] = {}
    for item in items:
        file = str(item.path.relative_to(ROOT))
        if file.split("/")[1] in LANES:
            continue
        uses[file] = uses.get(file, False) or "spark" in getattr(item, "fixturenames", ())
    return uses


def contradictions(uses: Mapping[str, bool], texts: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each file that says another thing than its tests do.

    Args:
        uses: as by `session_uses`.
        texts: of these files. One that chooses fixtures while it runs may say that it needs the session.
    """
    for file, is_used in uses.items():
        says = _SAYS.search(texts[file]) is not None
        if is_used and not says:
            yield f"{file} needs Spark: give it a line NEEDS_SPARK = True"
        if says and not is_used and "getfixturevalue(" not in texts[file]:
            yield f"{file} does not need Spark: take NEEDS_SPARK away"
