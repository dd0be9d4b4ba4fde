"""Options of jobs on the command line: made for typer from what `options/` declares."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeAlias

import typer

from pulsar_backlog.arguments import absolute_places
from pulsar_backlog.logs import show_all
from pulsar_backlog.options import OPTIONS, Declared

Given: TypeAlias = dict[str, Any]
"""Options that a user gave, by name; folders are absolute, what was not given is missing."""

MaybeSourceArgument = Annotated[
    str | None, typer.Argument(metavar="[SOURCE]", help=OPTIONS["source"].words.help, show_default=False)
]
SourceArgument = Annotated[str, typer.Argument(metavar="SOURCE", help=OPTIONS["source"].words.help, show_default=False)]
EndpointOption = Annotated[str | None, typer.Option(help=OPTIONS["endpoint"].words.help)]
OutArgument = Annotated[str, typer.Argument(metavar="DIR", help=OPTIONS["out"].words.help, show_default=False)]


def _show_all(wanted: bool) -> bool:
    show_all(wanted)
    return wanted


VerboseOption = Annotated[
    bool, typer.Option("--verbose", callback=_show_all, help="show what Java and Spark say, and stack traces")
]
ConfigOption = Annotated[
    str | None, typer.Option("--config", metavar="FILE", help="options and pipelines in a file, as in pipelines.yaml")
]
JsonOption = Annotated[bool, typer.Option("--json", help="print JSON lines on a terminal too, as elsewhere")]


def job_options(
    *names: str, required: tuple[str, ...] = (), words: Mapping[str, str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command take these options of jobs; it gets those that were given as its argument `given`.

    Args:
        names: options, in the order in which help lists them, after the command's own arguments.
        required: those of them that must be given.
        words: other help for those that mean something else to this command.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        taken = [_parameter(OPTIONS[name], name in required, (words or {}).get(name)) for name in names]
        return with_options(command, "given", taken, lambda values: absolute_places(dict(_given(values, names))))

    return decorate


def with_options(
    command: Callable[..., None],
    argument: str,
    options: Sequence[inspect.Parameter],
    made: Callable[[Mapping[str, Any]], object],
) -> Callable[..., None]:
    """The command with these options in place of one argument, which it gets as it is `made` of their values."""
    own = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.name != argument]

    def taking(**values: Any) -> None:
        command(**{p.name: values[p.name] for p in own}, **{argument: made(values)})

    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*own, *options)]
    taking.__name__, taking.__doc__ = command.__name__, command.__doc__
    taking.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what typer reads
    taking.__annotations__ = {p.name: p.annotation for p in parameters}
    return taking


def _given(values: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """What was given: typer says False of a switch and an empty list of what was not repeated."""
    for name in names:
        if values[name] is not None and values[name] is not False and values[name] != []:
            yield name, values[name]


def _parameter(option: Declared, required: bool, words: str | None) -> inspect.Parameter:
    kind: Any = list[str] if option.repeated else option.kind
    default: Any = inspect.Parameter.empty if required else False if option.kind is bool else None
    metavar = None if option.kind is bool else "N" if option.kind is int else "TEXT"
    choices = list(option.choices)
    of = typer.Option(
        option.flag, help=words or option.words.help, metavar=metavar, show_default=False,
        autocompletion=(lambda: choices) if choices else None,
    )  # fmt: skip
    optional = kind if required or option.kind is bool else kind | None
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[optional, of]
    )
