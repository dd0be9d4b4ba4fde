"""Spark's functions that a query of `sql` may call: each works on its arguments, and on nothing else of the machine.

`spark_functions.txt` lists those that are harmless, not those that are harmful: a new Spark's, and a cluster's own, are
refused until someone has read what they do. A test compares both lists with the functions of the installed Spark.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

_REASONS = {
    "it runs any Java code": ("java_method", "reflect", "try_reflect"),
    "its arguments name files": (
        "from_avro", "schema_of_avro", "to_avro", "from_protobuf", "to_protobuf", "from_xml", "schema_of_xml", "to_xml",
    ),
    "XML can name files": (
        "xpath", "xpath_boolean", "xpath_double", "xpath_float", "xpath_int", "xpath_long", "xpath_number",
        "xpath_short", "xpath_string",
    ),
    "it reads any Delta table": ("table_changes", "table_changes_by_path"),
    "it reads logs of Spark": ("python_worker_logs",),
}  # fmt: skip
REFUSED = {name: why for why, names in _REASONS.items() for name in names}
"""Functions of Spark and Delta that reach further, each with the reason."""


@cache
def allowed() -> frozenset[str]:
    """Functions by name, in lower case; operators need none."""
    lines = Path(__file__).with_suffix(".txt").read_text().splitlines()
    return frozenset(name for line in lines if not line.startswith("#") for name in line.split())
