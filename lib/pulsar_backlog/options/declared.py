"""All options together, as command lines and pipelines.yaml are made from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import get_args, get_origin

from pydantic import ValidationError

from pulsar_backlog.errors import UsageError
from pulsar_backlog.options.checks import parse_instant
from pulsar_backlog.options.comparison import ComparisonOptions
from pulsar_backlog.options.export import ExportOptions
from pulsar_backlog.options.jobs import JOB_OPTIONS
from pulsar_backlog.options.maintenance import MaintenanceOptions
from pulsar_backlog.options.repair import RepairOptions
from pulsar_backlog.options.results import ResultOptions
from pulsar_backlog.options.source import SourceOptions
from pulsar_backlog.options.words import Words


class Options(ComparisonOptions, MaintenanceOptions, RepairOptions, ExportOptions, ResultOptions, SourceOptions):
    """Options of jobs; None means that this layer does not set it."""

    def over(self, below: Options) -> Options:
        """These options where they are set, those of the layer below where not."""
        return below.model_copy(update=self.model_dump(exclude_none=True))


@dataclass(frozen=True)
class Declared:
    """An option as command lines need it, taken from its field of `Options`.

    Attributes:
        name: as in Python and pipelines.yaml.
        words: what it says of itself.
        kind: what one value is: `str`, `int`, or `bool` for a switch.
        repeated: whether it may be given more than once.
        choices: its values, where they are few.
    """

    name: str
    words: Words
    kind: type
    repeated: bool
    choices: tuple[str, ...]

    @property
    def flag(self) -> str:
        """As it is typed."""
        return f"--{self.name.replace('_', '-')}"


def _declared(name: str) -> Declared:
    field = Options.model_fields[name]
    words = next(one for one in field.metadata if isinstance(one, Words))
    parts = set(_types_in(field.annotation))
    kind = bool if bool in parts else int if int in parts else str
    choices = tuple(part for part in parts if isinstance(part, str))
    return Declared(name, words, kind, tuple in parts, tuple(sorted(choices)))


def _types_in(annotation: object) -> Iterator[object]:
    """The types an annotation is made of, containers included, and the values of a `Literal`."""
    yield get_origin(annotation) or annotation
    for inner in get_args(annotation):
        yield from _types_in(inner)


OPTIONS: Mapping[str, Declared] = {name: _declared(name) for name in Options.model_fields}
"""Every option, by name."""


def options_of(job: str, options: Options) -> Iterator[tuple[Declared, object]]:
    """The options that a job takes, in their order, with their values.

    Raises:
        UsageError: one that the job needs is missing.
    """
    for option in map(OPTIONS.__getitem__, JOB_OPTIONS[job]):
        value = getattr(options, option.name)
        if value is None and option.words.required:
            raise UsageError(f"{job} needs {option.flag}; give it on the command line, or in the file of --config.")
        yield option, value


def in_time_order(options: Options) -> Options:
    """The same options.

    Raises:
        UsageError: `since` is not before `until`.
    """
    if options.since and options.until and parse_instant(options.since) >= parse_instant(options.until):
        raise UsageError(f"--since {options.since} is not before --until {options.until}: swap them")
    return options


def given_options(given: Mapping[str, object]) -> Options:
    """Options as a caller gives them, by name.

    Raises:
        UsageError: a name or value is wrong; the message names the flag.
    """
    try:
        return Options.model_validate(dict(given))
    except ValidationError as error:
        faults = [f"--{keys[0].replace('_', '-')}: {words}" for keys, words in faults_of(error)]
        raise UsageError("; ".join(faults)) from error


def faults_of(error: ValidationError) -> list[tuple[list[str], str]]:
    """Where in the document each mistake is, and what is wrong."""
    words = {"extra_forbidden": "unknown key", "missing": "missing"}
    return [
        (
            [str(part) for part in fault["loc"]],
            words.get(fault["type"], fault["msg"].removeprefix("Value error, ")),
        )
        for fault in error.errors()
    ]
