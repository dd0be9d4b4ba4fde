"""Words of this program as a column of codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as f

CODED = ("topic", "ledger_id", "entry_id", "sureness", "reason", "code")
"""Columns of places of which findings are counted, see `steps.finding_rows.counted`."""


def code_of(value: Column, codes: Mapping[Any, str]) -> Column:
    """What `codes` says of a value; null where it says nothing."""
    # One text, which Spark takes apart once: each `when` of a chain would be a dozen calls to the JVM.
    text = f.lit("\x1e".join(f"{name}\x1f{code}" for name, code in codes.items()))
    return f.try_element_at(f.str_to_map(text, f.lit("\x1e"), f.lit("\x1f")), value)
