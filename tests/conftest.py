"""What tests of all rooms share: one Spark session for the whole run, and one audit of the bundled backlog."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.auditing import SESSION, Audited
from tests.kept_audit import bundled_audit
from tests.session_needs import ROOT, contradictions, session_uses

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_configure(config: pytest.Config) -> None:
    # Pulsar's client makes a RuntimeError of each of DuckDB's errors where it is loaded after DuckDB. No command does
    # that; a process that runs all tests would.
    if find_spec("pulsar") is not None:  # not in Airflow's environment
        import_module("pulsar")
    # PySpark leaves the socket of each collect() to the garbage collector, which runs in whatever test comes next.
    config.addinivalue_line("filterwarnings", "ignore:unclosed .socket:ResourceWarning")
    if config.pluginmanager.hasplugin("hypothesispytest"):  # not in Airflow's environment
        from hypothesis import settings

        # No deadline: the machine may be busy, and the kernel compiles.
        # CI tries the same examples each time, so that it fails for what was changed; nightly runs try others.
        settings.register_profile("ci", deadline=None, derandomize=True, database=None)
        settings.register_profile("thorough", deadline=None, max_examples=2000)
        settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session that all jobs of this run find; a run that asks for none starts no JVM."""
    from pulsar_backlog.spark.choice import choose
    from pulsar_backlog.spark.session import start_session

    choose(SESSION)
    root = Path(__file__).parents[1]
    with pytest.MonkeyPatch.context() as patch:
        # The JVM hands it on to Spark's workers, which do not see what pytest put on this process's path.
        patch.setenv("PYTHONPATH", os.pathsep.join([str(root / "lib"), str(root)]))
        session = start_session("tests", str(root / "none"))
    yield session
    session.stop()


@pytest.fixture(scope="session")
def bundled(spark: SparkSession) -> Audited:
    """The audit of the bundled backlog with its admin JSON: read by many, changed by none."""
    return bundled_audit()


@pytest.hookimpl(optionalhook=True)  # Airflow's environment has no xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from tests.scheduling import SparkApart

    return SparkApart(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(tryfirst=True)  # before -k leaves any out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("lf", False) or any("::" in argument for argument in config.args):
        return  # others of the file may need the session
    uses = session_uses(items)
    if faults := list(contradictions(uses, {file: (ROOT / file).read_text() for file in uses})):
        raise pytest.UsageError("\n".join(faults))
