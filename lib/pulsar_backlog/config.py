"""`pipelines.yaml`: which jobs run, in which order, with which options; and a job's options.

Options come in layers, later ones win: `defaults` of the file, `options` of the pipeline, `options` of
the job, and what the caller gives. A user's own file (`--config`) has the same form: its defaults and pipelines win
over those of the file beside the program. Everything is validated here, so the rest may assume.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from pulsar_backlog.errors import UsageError
from pulsar_backlog.options import (
    JOB_OPTIONS,
    OPTIONS,
    Frozen,
    Options,
    faults_of,
    given_options,
    in_time_order,
    options_of,
)
from pulsar_backlog.options.printed import rendered

HOME_VARIABLE = "PULSAR_BACKLOG_HOME"
"""Names the home folder where it cannot be found beside the code, as inside a zip."""

_SECRET_KEY = re.compile(r"(password|token|(access|secret)[._-]?key|authenticate\.secret)$", re.IGNORECASE)


def _no_secret_keys(conf: dict[str, str]) -> dict[str, str]:
    for key in conf:
        if _SECRET_KEY.search(key):
            raise ValueError(f"{key} is a secret; give it in the environment or a connection")
    return conf


def _in_order(jobs: tuple[Job, ...]) -> tuple[Job, ...]:
    names = [job.job for job in jobs]
    if names != [name for name in JOB_OPTIONS if name in names]:
        raise ValueError(f"must be some of these, each at most once, in this order: {', '.join(JOB_OPTIONS)}")
    return jobs


SparkValue = Annotated[str, BeforeValidator(lambda v: str(v).lower() if isinstance(v, bool) else str(v))]


class Job(Frozen):
    """A job as a pipeline lists it."""

    job: str
    options: Options = Options()


class Pipeline(Frozen):
    """A list of jobs with what they share.

    Attributes:
        description: one sentence.
        schedule: cron expression or Airflow preset; None means by hand only.
        spark: Spark settings given to spark-submit; never secrets.
        options: options of all its jobs.
        jobs: in order.
    """

    description: str
    schedule: str | None = None
    spark: Annotated[dict[str, SparkValue], AfterValidator(_no_secret_keys)] = Field(default_factory=dict)
    options: Options = Options()
    jobs: Annotated[tuple[Job, ...], Field(min_length=1), AfterValidator(_in_order)]


class Pipelines(Frozen):
    """All of `pipelines.yaml`."""

    defaults: Options = Options()
    pipelines: dict[str, Pipeline]

    def get(self, name: str) -> Pipeline:
        """The pipeline of that name, with the defaults filled in.

        Raises:
            UsageError: there is none.
        """
        pipeline = self.pipelines.get(name)
        if pipeline is None:
            names = ", ".join(sorted(self.pipelines)) or "none"
            raise UsageError(f"There is no pipeline {name!r} in pipelines.yaml; there is: {names}.")
        return pipeline.model_copy(update={"options": pipeline.options.over(self.defaults)})


class Configuration(Pipelines):
    """A user's own file: what it does not say is as in the file beside the program."""

    pipelines: dict[str, Pipeline] = Field(default_factory=dict)


Read = TypeVar("Read", bound=Pipelines)


class _Loader(yaml.SafeLoader):
    """Safe YAML that refuses a repeated key, of which the plain loader silently keeps the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.MarkedYAMLError(problem=f"repeated key {key!r}", problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


def home() -> Path:
    """The folder that holds `jobs/`, `conf/` and `pipelines.yaml`.

    It is named by `PULSAR_BACKLOG_HOME`, or is the installed package, the repository root, or the folder
    above the file that runs (code imported from a zip, `jobs/JOB.py` or `conf/deploy/application.py` on disk).

    Raises:
        UsageError: there is no such folder, or the variable names another kind of folder.
    """
    named = os.environ.get(HOME_VARIABLE)
    here, script = Path(__file__).resolve(), Path(sys.argv[0]).resolve()
    candidates = [Path(named)] if named else [here.parent, here.parents[2], *script.parents[1:3]]
    for folder in candidates:
        if (folder / "pipelines.yaml").is_file() and (folder / "conf").is_dir():
            return folder
    raise UsageError(
        f"The folder with jobs/, conf/ and pipelines.yaml is not at {' or '.join(map(str, candidates))}; "
        f"set {HOME_VARIABLE} to it."
    )


def load_pipelines(path: Path | None = None) -> Pipelines:
    """`pipelines.yaml` of the home folder, or the file at `path`.

    Raises:
        UsageError: it is unreadable, not YAML, or a key or value is wrong; the message names file and key.
    """
    return _read(path or home() / "pipelines.yaml", Pipelines)


def configured(path: str | None) -> Pipelines:
    """`pipelines.yaml` of the home folder, with what the file at `path` says instead.

    Raises:
        UsageError: as `load_pipelines`.
    """
    shipped = load_pipelines()
    if path is None:
        return shipped
    own = _read(Path(path).expanduser(), Configuration)
    return Pipelines(defaults=own.defaults.over(shipped.defaults), pipelines={**shipped.pipelines, **own.pipelines})


def own_defaults(path: str) -> dict[str, object]:
    """The defaults that a user's own file sets, by name, for a command that reads no pipelines.

    Raises:
        UsageError: as `load_pipelines`.
    """
    defaults = _read(Path(path).expanduser(), Configuration).defaults
    return {name: value for name in OPTIONS if (value := getattr(defaults, name)) is not None}


def _read(path: Path, kind: type[Read]) -> Read:
    try:
        document = yaml.load(path.read_bytes(), _Loader)  # noqa: S506 - a subclass of SafeLoader
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise UsageError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    try:
        return kind.model_validate({} if document is None and kind is Configuration else document)
    except ValidationError as error:
        faults = [f"{path}: {'.'.join(keys) or 'the document'}: {words}" for keys, words in faults_of(error)]
        raise UsageError("; ".join(faults)) from error


def layered_options(pipeline: Pipeline, job: str, overrides: Mapping[str, object]) -> Options:
    """The options of one job of a pipeline, by all layers; `complete_options` makes them what the job runs with.

    Args:
        pipeline: as `Pipelines.get` returns it.
        job: name of one of its jobs.
        overrides: options by name that win over those of the pipeline; the job may not take them all.

    Raises:
        UsageError: the pipeline lacks the job, or an override is wrong.
    """
    listed = next((entry for entry in pipeline.jobs if entry.job == job), None)
    if listed is None:
        names = ", ".join(entry.job for entry in pipeline.jobs)
        raise UsageError(f"The pipeline has no job {job!r}; it has {names}.")
    return in_time_order(given_options(overrides).over(listed.options.over(pipeline.options)))


def job_argv(pipeline: Pipeline, job: str, overrides: Mapping[str, object]) -> list[str]:
    """The same as the job's command line, for Airflow and spark-submit; the only place where one is rendered.

    Raises:
        UsageError: the same, or an option is missing that the job needs.
    """
    options = layered_options(pipeline, job, overrides)
    return [part for option, value in options_of(job, options) for part in rendered(option.flag, value)]
