"""The recipes of conf/deploy/ say what the program, its locked requirements and conf/spark/ say.

`make lint` holds them against Kubernetes' own schemas and hadolint; for SparkApplication there is no schema to be had.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyspark
import pytest
import yaml

from pulsar_backlog import __version__
from pulsar_backlog.command_line import program

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "conf" / "deploy"
IMAGE = f"REGISTRY/pulsar-backlog:{__version__}"
PACKAGE = "/usr/local/lib/python3.11/site-packages/pulsar_backlog/"
SECRET = re.compile(r"(?i)secret|password|access.?key|token(?!:)")


def resources(name: str) -> dict[str, list[dict[str, Any]]]:
    """What a file describes, by kind."""
    found: dict[str, list[dict[str, Any]]] = {}
    for one in yaml.safe_load_all((DEPLOY / name).read_text()):
        found.setdefault(one["kind"], []).append(one)
    return found


def one(name: str, kind: str) -> dict[str, Any]:
    (found,) = resources(name)[kind]
    return dict(found["spec"])


def pod() -> dict[str, Any]:
    return dict(one("cronjob.yaml", "CronJob")["jobTemplate"]["spec"]["template"]["spec"])


def settings(path: Path) -> dict[str, str]:
    lines = (line.split(None, 1) for line in path.read_text().splitlines() if line.strip() and line[0] != "#")
    return {name: value.strip() for name, value in lines}


def test_spark_gets_the_settings_of_a_submit() -> None:
    assert one("sparkapplication.yaml", "SparkApplication")["sparkConf"] == settings(ROOT / "conf/spark/submit.conf")


@pytest.mark.parametrize(
    "arguments", [pod()["containers"][0]["args"], one("sparkapplication.yaml", "SparkApplication")["arguments"]]
)
def test_the_program_takes_the_arguments(arguments: list[str]) -> None:
    group = program()
    whole = group.make_context("pulsar-backlog", list(arguments))
    name, command, rest = group.resolve_command(whole, list(arguments))
    assert name == "audit"
    with command.make_context(name, rest, parent=whole) as parsed:
        assert parsed.params["source"] == "s3://OFFLOAD-BUCKET"
        assert parsed.params["out"] == "s3a://RESULTS-BUCKET/PREFIX"


def test_versions_are_those_that_are_locked() -> None:
    spark = one("sparkapplication.yaml", "SparkApplication")
    assert {pod()["containers"][0]["image"], spark["image"]} == {IMAGE}
    assert spark["sparkVersion"] == pyspark.__version__
    image = (DEPLOY / "Dockerfile").read_text()
    assert f"SPARK_IMAGE=apache/spark:{pyspark.__version__}-" in image
    for copied in re.findall(r"^COPY (requirements\S+)", image, re.MULTILINE):
        assert (ROOT / copied).is_file()


def test_the_application_lies_where_the_wheel_puts_it() -> None:
    spark = one("sparkapplication.yaml", "SparkApplication")
    place = spark["mainApplicationFile"].removeprefix("local://")
    assert place.startswith(PACKAGE)
    assert (ROOT / place.removeprefix(PACKAGE)).is_file()  # the wheel has conf/ inside the package
    assert PACKAGE.rpartition("/pulsar_backlog/")[0] in (DEPLOY / "Dockerfile").read_text()


@pytest.mark.parametrize("name", ["cronjob.yaml", "sparkapplication.yaml"])
def test_accounts_are_described_and_nothing_is_secret(name: str) -> None:
    found = resources(name)
    described = {account["metadata"]["name"] for account in found["ServiceAccount"]}
    used = set(re.findall(r"serviceAccount(?:Name)?: (\S+)", (DEPLOY / name).read_text()))
    assert used == described
    specs = [part for kind, parts in found.items() if kind not in ("ServiceAccount", "Role") for part in parts]
    text = json.dumps(specs).replace("automountServiceAccountToken", "")
    assert not SECRET.search(text)
