"""`pipelines.yaml`: which jobs run, in which order, with which options; and a job's command line.

Options come in layers, later ones win: `defaults` of the file, `options` of the pipeline, `options` of
the job, and what the caller gives. Everything is validated here, so the rest may assume.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from pulsar_backlog.errors import UsageError

HOME_VARIABLE = "PULSAR_BACKLOG_HOME"
"""Names the home folder where it cannot be found beside the code, as inside a zip."""

_EVERY_JOB = ("out", "cluster", "fail_on", "exit_zero_when_unchanged")
_WITH_SOURCE = ("source", "endpoint", "admin", "topic", "ledger", "since", "until", *_EVERY_JOB)

JOB_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "inventory_ledgers": _WITH_SOURCE,
    "scan_entries": _WITH_SOURCE,
    "assemble_chunks": (*_WITH_SOURCE, "grace_seconds"),
    "check_quality": _EVERY_JOB,
    "write_report": _EVERY_JOB,
}
"""Every job in the order of the data's way, with the options it takes, in the order they are written."""

_REQUIRED = ("source", "out")
_SECRET_KEY = re.compile(r"(password|token|(access|secret)[._-]?key|authenticate\.secret)$", re.IGNORECASE)


def _as_tuple(value: object) -> object:
    return value if isinstance(value, list | tuple) else (value,)


def _without_credentials(uri: str) -> str:
    parts = urlsplit(uri)
    if parts.username is not None or parts.password is not None:
        raise ValueError("must not hold credentials; they come from environment, profile or connection")
    return uri


def _ledger_range(value: object) -> str:
    text = str(value)
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    if match is None or (match[2] is not None and int(match[1]) > int(match[2])):
        raise ValueError(f"{text!r} is not a ledger id or a range of ids such as 12-20")
    return text


def _instant(value: object) -> str:
    """ISO 8601 text of a time; YAML reads unquoted times as dates already."""
    text = value.isoformat() if isinstance(value, date) else str(value)
    try:
        parse_instant(text)
    except ValueError:
        raise ValueError(f"{text!r} is not an ISO 8601 time such as 2026-11-21T10:00:00Z") from None
    return text


def parse_instant(text: str) -> datetime:
    """The instant that ISO 8601 text names; UTC where it names no zone."""
    instant = datetime.fromisoformat(text)
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)


def _no_secret_keys(conf: dict[str, str]) -> dict[str, str]:
    for key in conf:
        if _SECRET_KEY.search(key):
            raise ValueError(f"{key} is a secret; it must come from the environment or a connection")
    return conf


def _in_order(jobs: tuple[Job, ...]) -> tuple[Job, ...]:
    names = [job.job for job in jobs]
    if names != [name for name in JOB_OPTIONS if name in names]:
        raise ValueError(f"must be some of these, each at most once, in this order: {', '.join(JOB_OPTIONS)}")
    return jobs


Uri = Annotated[str, AfterValidator(_without_credentials)]
Instant = Annotated[str, BeforeValidator(_instant)]
LedgerRange = Annotated[str, BeforeValidator(_ledger_range)]
SparkValue = Annotated[str, BeforeValidator(lambda v: str(v).lower() if isinstance(v, bool) else str(v))]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Options(_Frozen):
    """Options of jobs; None means that this layer does not set it.

    Attributes:
        source: folder or `s3://bucket[/prefix]` that holds the offloaded ledgers.
        endpoint: S3 endpoint, where it is not AWS.
        admin: folder of saved admin JSON.
        topic: globs on full topic names; any may match.
        ledger: ledger ids or inclusive ranges `A-B`; any may match.
        since: first instant, inclusive, ISO 8601, UTC unless it names a zone.
        until: first instant after the end, exclusive.
        out: folder of tables and reports.
        cluster: name of the Pulsar cluster; tables of several clusters may lie in one `out`.
        fail_on: lowest severity of findings that makes the exit code 1.
        exit_zero_when_unchanged: exit 0 instead of 99 when there was nothing new to do.
        grace_seconds: how near the end of the log an incomplete message still counts as in flight.
    """

    source: Uri | None = None
    endpoint: Uri | None = None
    admin: str | None = None
    topic: Annotated[tuple[str, ...], BeforeValidator(_as_tuple)] | None = None
    ledger: Annotated[tuple[LedgerRange, ...], BeforeValidator(_as_tuple)] | None = None
    since: Instant | None = None
    until: Instant | None = None
    out: Uri | None = None
    cluster: Annotated[str, Field(min_length=1)] | None = None
    fail_on: Literal["error", "warning", "never"] | None = None
    exit_zero_when_unchanged: bool | None = None
    grace_seconds: Annotated[int, Field(ge=0)] | None = None

    def over(self, below: Options) -> Options:
        """These options where they are set, those of the layer below where not."""
        return below.model_copy(update=self.model_dump(exclude_none=True))


class Job(_Frozen):
    """A job as a pipeline lists it."""

    job: str
    options: Options = Options()


class Pipeline(_Frozen):
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
    spark: Annotated[dict[str, SparkValue], AfterValidator(_no_secret_keys)] = {}
    options: Options = Options()
    jobs: Annotated[tuple[Job, ...], Field(min_length=1), AfterValidator(_in_order)]


class Pipelines(_Frozen):
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
            known = ", ".join(sorted(self.pipelines)) or "none"
            raise UsageError(f"There is no pipeline {name!r} in pipelines.yaml; there is: {known}.")
        return pipeline.model_copy(update={"options": pipeline.options.over(self.defaults)})


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
    above the job file that runs (code imported from a zip, job file on disk).

    Raises:
        UsageError: there is no such folder, or the variable names another kind of folder.
    """
    named = os.environ.get(HOME_VARIABLE)
    here, script = Path(__file__).resolve(), Path(sys.argv[0]).resolve()
    candidates = [Path(named)] if named else [here.parent, here.parents[2], script.parent.parent]
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
    path = path or home() / "pipelines.yaml"
    try:
        document = yaml.load(path.read_bytes(), _Loader)  # noqa: S506 - a subclass of SafeLoader
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise UsageError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    try:
        return Pipelines.model_validate(document)
    except ValidationError as error:
        faults = [f"{path}: {'.'.join(keys) or 'the document'}: {words}" for keys, words in _faults(error)]
        raise UsageError("\n".join(faults)) from error


def given_options(given: Mapping[str, object]) -> Options:
    """Options as a caller gives them, by name.

    Raises:
        UsageError: a name or value is wrong; the message names the flag.
    """
    try:
        return Options.model_validate(dict(given))
    except ValidationError as error:
        faults = [f"--{keys[0].replace('_', '-')}: {words}" for keys, words in _faults(error)]
        raise UsageError("\n".join(faults)) from error


def job_argv(pipeline: Pipeline, job: str, overrides: Mapping[str, object]) -> list[str]:
    """The arguments of one job of a pipeline; the only place where they are rendered.

    Args:
        pipeline: as `Pipelines.get` returns it.
        job: name of one of its jobs.
        overrides: options by name that win over those of the pipeline; those the job does not take are
            left out.

    Raises:
        UsageError: the pipeline lacks the job, an override is wrong, or `source` or `out` is missing.
    """
    listed = next((entry for entry in pipeline.jobs if entry.job == job), None)
    if listed is None:
        known = ", ".join(entry.job for entry in pipeline.jobs)
        raise UsageError(f"The pipeline has no job {job!r}; it has {known}.")
    options = given_options(overrides).over(listed.options.over(pipeline.options))
    if options.since and options.until and parse_instant(options.since) >= parse_instant(options.until):
        raise UsageError(f"--since {options.since} is not before --until {options.until}.")
    argv: list[str] = []
    for name in JOB_OPTIONS[job]:
        value = getattr(options, name)
        if value is None and name in _REQUIRED:
            raise UsageError(f"{job} needs --{name}; give it on the command line or in pipelines.yaml.")
        argv += _flag(name, value)
    return argv


def _flag(name: str, value: object) -> list[str]:
    flag = f"--{name.replace('_', '-')}"
    if value is None or value is False:
        return []
    if value is True:
        return [flag]
    values = value if isinstance(value, tuple) else (value,)
    return [part for one in values for part in (flag, str(one))]


def _faults(error: ValidationError) -> list[tuple[list[str], str]]:
    """Where in the document each mistake is, and what is wrong."""
    words = {"extra_forbidden": "unknown key", "missing": "missing"}
    return [
        (
            [str(part) for part in fault["loc"]],
            words.get(fault["type"], fault["msg"].removeprefix("Value error, ")),
        )
        for fault in error.errors()
    ]
