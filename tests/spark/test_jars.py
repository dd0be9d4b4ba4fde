"""Jars are used only when their digests are right; one that is wrong is fetched again, or told in one sentence."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from pulsar_backlog.errors import UsageError
from pulsar_backlog.spark import jars

NEEDS_SPARK = True

GOOD = {"org.example:part:1.0": hashlib.sha256(b"good").hexdigest()}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(jars.JARS_VARIABLE, str(tmp_path / "jars"))
    return tmp_path / "jars"


def fetching(monkeypatch: pytest.MonkeyPatch, body: bytes | None) -> list[list[str]]:
    """Let a registry give this, or nothing; what it was asked for."""
    asked = []

    def run_ivy(work: Path, artifacts: list[str]) -> str:
        asked.append(artifacts)
        if body is not None:
            (work / "part-1.0.jar").write_bytes(body)
        return "Ivy said: no way"

    monkeypatch.setattr(jars, "_run_ivy", run_ivy)
    return asked


def test_what_is_there_and_right_is_not_fetched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = fetching(monkeypatch, b"good")
    assert jars._sound("jars", GOOD) == [folder / "part-1.0.jar"]
    assert jars._sound("jars", GOOD) == [folder / "part-1.0.jar"]
    assert asked == [[*GOOD]]


def test_what_was_changed_is_fetched_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetching(monkeypatch, b"good")
    folder.mkdir()
    (folder / "part-1.0.jar").write_bytes(b"bad")
    assert jars._sound("jars", GOOD)[0].read_bytes() == b"good"


def test_another_file_of_that_name_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetching(monkeypatch, b"bad")
    with pytest.raises(UsageError, match="is not the file it should be"):
        jars._sound("jars", GOOD)


def test_a_registry_out_of_reach_is_one_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetching(monkeypatch, None)
    with pytest.raises(UsageError, match=r"the jars could not be fetched .*\(no part-1.0.jar\).* Ivy said: no way$"):
        jars._sound("the jars", GOOD)


@pytest.mark.parametrize(("version", "jar"), [("4.0.1", "4.0"), ("4.1.4", "4.1"), ("4.2.0", "4.2")])
def test_each_spark_has_the_delta_jar_made_for_it(version: str, jar: str) -> None:
    delta, storage = jars.delta_artifacts(version)
    assert delta == f"io.delta:delta-spark_{jar}_2.13:4.4.0"
    assert storage == "io.delta:delta-storage:4.4.0"


@pytest.mark.parametrize("version", ["3.5.9", "4.3.0", "5.0.0.dev1"])
def test_a_spark_without_a_delta_jar_is_one_sentence(version: str) -> None:
    with pytest.raises(UsageError, match=rf"^pyspark is {version}, for which .* install one of Spark 4.0, 4.1 or 4.2$"):
        jars.delta_artifacts(version)


def test_spark_pyspark_and_delta_of_one_release_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars.pyspark, "__version__", "4.1.4")
    jars.check_releases("4.1.0", "delta-spark_4.1_2.13-4.4.0.jar")  # versions of one release do
    jars.check_releases("4.1.4", "delta-of-the-cluster.jar")  # a cluster's own: its owner knows


@pytest.mark.parametrize(
    ("spark", "jar", "sentence"),
    [
        (
            "4.2.0",
            "delta-spark_4.2_2.13-4.4.0.jar",
            "spark-submit is of Spark 4.2.0, but this Python has",
        ),
        ("4.1.4", "delta-spark_4.2_2.13-4.4.0.jar", "is made for Spark 4.2, but the cluster runs Spark 4.1.4"),
    ],
)
def test_others_are_one_sentence(spark: str, jar: str, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars.pyspark, "__version__", "4.1.4")
    with pytest.raises(UsageError, match=sentence):
        jars.check_releases(spark, jar)


def test_jars_of_s3a_for_another_hadoop_are_refused() -> None:
    jars.check_hadoop(["hadoop-client-api-3.4.2.jar"])
    with pytest.raises(UsageError, match=r"brings Hadoop 3\.5\.0, but the jars for s3a:// fit Hadoop 3\.4\.2"):
        jars.check_hadoop(["hadoop-client-api-3.5.0.jar"])
