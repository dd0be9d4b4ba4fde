"""The rules of conf/quality, and a way to check frames with them."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from healthy_audit import frame

from pulsar_backlog.quality.check import check
from pulsar_backlog.quality.rules import Rule, load_rules
from pulsar_backlog.quality.summaries import COLUMNS

CONF = Path(__file__).parents[2] / "conf" / "quality"


@pytest.fixture(scope="session")
def rules() -> list[Rule]:
    return load_rules(CONF)


@pytest.fixture(scope="session")
def by_rule(rules: list[Rule], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Checks frames; returns the result rows by rule."""

    def run(**frames: pd.DataFrame) -> dict[str, dict[str, Any]]:
        summaries = {name: frames.get(name, frame(name)) for name in COLUMNS}
        return {row["rule"]: row for row in check(rules, summaries, tmp_path_factory.mktemp("docs") / "data_docs")}

    return run
