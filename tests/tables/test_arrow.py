"""Contracts as Arrow schemas are what Spark makes of them."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from pulsar_backlog.frames.schemas import spark_schema
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema, arrow_type

NEEDS_SPARK = True


def test_every_contract_is_the_schema_that_spark_makes_of_it(spark: SparkSession) -> None:
    for name, table in TABLES.items():
        assert arrow_schema(table).equals(to_arrow_schema(spark_schema(table.ddl())), check_metadata=True), name


@pytest.mark.parametrize("ddl", ["decimal(38,0)", "array<text>", "struct<a:int,b:date>", ""])
def test_a_type_that_no_contract_uses_is_refused(ddl: str) -> None:
    with pytest.raises(ValueError, match="no Arrow type"):
        arrow_type(ddl)
