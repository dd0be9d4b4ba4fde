"""Contracts of tables as Spark schemas; as Arrow's they are in `tables/arrow.py`."""

from __future__ import annotations

from functools import cache
from typing import cast

from pyspark.sql.types import StructType


@cache
def spark_schema(ddl: str) -> StructType:
    """Columns in DDL as a Spark schema; needs a running session."""
    return cast(StructType, StructType.fromDDL(ddl))
