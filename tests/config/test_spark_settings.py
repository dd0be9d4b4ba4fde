"""conf/spark/submit.conf says for spark-submit what the code says for a session of its own."""

from pathlib import Path

from pulsar_backlog.storage import jars, session

SETTINGS = dict(
    line.split(None, 1)
    for line in (Path(__file__).parents[2] / "conf/spark/submit.conf").read_text().splitlines()
    if line and not line.startswith("#")
)


def test_it_holds_what_a_cluster_must_have() -> None:
    assert session.REQUIRED_SETTINGS.items() <= SETTINGS.items()


def test_it_names_the_jars_that_are_checked() -> None:
    assert SETTINGS["spark.jars.packages"].split(",") == [artifact for artifact, _ in jars._ARTIFACTS.values()]
    assert SETTINGS["spark.jars.excludes"] == jars._EXCLUDES
