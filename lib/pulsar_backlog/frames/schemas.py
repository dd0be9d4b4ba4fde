"""Contracts of tables as Spark and Arrow schemas."""

from __future__ import annotations

from typing import cast

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from pulsar_backlog.tables import Table


def spark_schema(ddl: str) -> StructType:
    """Columns in DDL as a Spark schema; needs a running session."""
    return cast(StructType, StructType.fromDDL(ddl))


def arrow_schema(table: Table) -> pa.Schema:
    """The contract as Spark's Arrow schema: what a worker must return; needs a running session."""
    return to_arrow_schema(spark_schema(table.ddl()))
