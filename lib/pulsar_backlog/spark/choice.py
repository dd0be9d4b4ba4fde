"""Whether tasks are Spark's, and the settings chosen for the next session; asked without importing Spark."""

from __future__ import annotations

import os
from collections.abc import Mapping

from pulsar_backlog.tableio.table_logs import runs_session

_JAVA_OPTIONS = "spark.driver.defaultJavaOptions"

_chosen: dict[str, str] = {}


def choose(settings: Mapping[str, str]) -> None:
    """Let the next new session have these Spark settings; what this program requires wins. spark-submit has its own."""
    _chosen.clear()
    _chosen.update(settings)


def chosen_settings() -> dict[str, str]:
    """The settings that were chosen."""
    return dict(_chosen)


def prefer_c1_compiler() -> None:
    """Let the JVM of the next new session have one compiler (docs/decisions/0045); who chose options keeps them."""
    _chosen.setdefault(_JAVA_OPTIONS, "-XX:TieredStopAtLevel=1")


def needs_session() -> bool:
    """Whether tasks are Spark's: a session runs, spark-submit started this program, or somebody chose settings."""
    return is_submitted() or runs_session() or not {_JAVA_OPTIONS}.issuperset(_chosen)


def is_submitted() -> bool:
    """Whether spark-submit started this program."""
    return "PYSPARK_GATEWAY_PORT" in os.environ
