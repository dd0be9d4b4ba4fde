"""Great Expectations, imported only when it is needed: that takes seconds."""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from typing import Any

from pulsar_backlog.quality.lean_import import lean_imports


def gx(module: str) -> Any:
    """A module of Great Expectations, which sends nothing home."""
    os.environ["GX_ANALYTICS_ENABLED"] = "False"  # read once, at its import
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own use of deprecated modules; nothing that a user could mend
        with lean_imports():
            return import_module(module)


def row_wise_expectations() -> dict[str, Any]:
    """Classes of expectations that look at each row, by name: only these can say which rows failed."""
    base = gx("great_expectations.expectations.expectation")
    bases = (base.ColumnMapExpectation, base.ColumnPairMapExpectation, base.MulticolumnMapExpectation)
    members = vars(gx("great_expectations.expectations")).items()
    return {name: value for name, value in members if isinstance(value, type) and issubclass(value, bases)}


def quiet_context() -> Any:
    """A context that lives in memory and draws no progress bars."""
    context = gx("great_expectations").get_context(mode="ephemeral")
    types = gx("great_expectations.data_context.types.base")
    context.variables.progress_bars = types.ProgressBarsConfig(globally=False)
    return context
