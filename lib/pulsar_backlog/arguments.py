"""The options of a job: from a command line by one parser made of what `options/` declares, or from a caller here."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pulsar_backlog.errors import UsageError
from pulsar_backlog.ledgers.buckets.access import DEFAULT_ACCESS
from pulsar_backlog.ledgers.budget import Budget
from pulsar_backlog.ledgers.live.service import DEFAULT_RATE, LEAST_RATE, LIVE_NEEDED, Live, is_service
from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.options import (
    JOB_OPTIONS,
    OPTIONS,
    Options,
    given_options,
    in_time_order,
    options_of,
    parse_instant,
    parse_percent,
)

if TYPE_CHECKING:
    from pulsar_backlog.ledgers.store import Source


def job_parser(job: str, description: str) -> argparse.ArgumentParser:
    """The parser of one job's options."""
    parser = argparse.ArgumentParser(
        prog=f"jobs/{job}.py", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for option in map(OPTIONS.__getitem__, JOB_OPTIONS[job]):
        words = option.words
        if option.kind is bool:
            parser.add_argument(option.flag, action="store_true", help=words.help)
        elif option.repeated:
            parser.add_argument(option.flag, action="append", help=words.help)
        else:
            parser.add_argument(option.flag, required=words.required, default=words.default, help=words.help)
    return parser


JobArguments = Sequence[str] | Options | None
"""What a job is started with: a command line, None for that of the process, or its `complete_options`."""


def parse_options(parser: argparse.ArgumentParser, given: JobArguments) -> Options:
    """The options that a job is started with, checked, with the folders made absolute.

    Raises:
        UsageError: an option's value is wrong; the message names the option and the remedy.
    """
    return given if isinstance(given, Options) else _parse(parser, given)


def complete_options(job: str, options: Options) -> Options:
    """Options as `parse_options` has them of the job's command line: its own alone, with defaults and absolute folders.

    Raises:
        UsageError: one that the job needs is missing, or one is wrong.
    """
    complete: dict[str, object] = {}
    for option, value in options_of(job, options):
        default = False if option.kind is bool else option.words.default
        # A list without a value is no option on a command line.
        complete[option.name] = default if value in (None, ()) else value
    given = {name: value for name, value in complete.items() if value is not None}
    return in_time_order(given_options(absolute_places(given)))


def _parse(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> Options:
    given = {name: value for name, value in vars(parser.parse_args(argv)).items() if value is not None}
    options = in_time_order(given_options(given))
    return options.model_copy(update=absolute_places(options.model_dump()))


def absolute_places(given: Mapping[str, object]) -> dict[str, object]:
    """The same options by name, their folders as absolute paths.

    Raises:
        UsageError: a path cannot be the name of a table's folder.
    """
    places = {name: value for name, value in given.items() if isinstance(value, str) and OPTIONS[name].words.place}
    return {**given, **{name: absolute(name, place) for name, place in places.items()}}


def absolute(name: str, place: str | None) -> str | None:
    """A local folder as an absolute path; an address or None as it is.

    Raises:
        UsageError: the path cannot be the name of a table's folder.
    """
    if place is None or "://" in place:
        return place
    if "`" in place or "\n" in place:
        raise UsageError(f"--{name} {place!r}: Delta cannot use a path with a backtick or line break: choose another")
    return str(Path(place).expanduser().resolve())


def scope_of(options: Options) -> Scope:
    """The choice that a command line makes; its options are already checked."""
    ranges = [text.split("-") for text in options.ledger or ()]
    return Scope(
        options.topic or (),
        tuple((int(ends[0]), int(ends[-1])) for ends in ranges),
        parse_instant(options.since) if options.since else None,
        parse_instant(options.until) if options.until else None,
    )


def live_of(options: Options) -> Live | None:
    """The live cluster that a command line names; its topics are listed by the snapshot in `admin`.

    Raises:
        UsageError: brokers are named, and no web service of theirs, or brokers twice.
    """
    source = options.source or ""
    service = source if is_service(source) else options.live
    if service is None:
        return None
    if options.live is not None and service != options.live:
        raise UsageError(f"--live {options.live}: the source names brokers already: leave --live out")
    if options.admin_url is None:
        raise UsageError(f"{service}: {LIVE_NEEDED}")
    return Live(
        service, options.admin_url, options.admin, options.max_rate or DEFAULT_RATE, options.token_file,
        options.ca_file, options.cert_file, options.key_file, float(options.timeout_seconds or 30),
        options.token_without_tls is True, options.broker_host or (), options.min_rate or LEAST_RATE,
    )  # fmt: skip


def budget_of(options: Options) -> Budget:
    """How much a command line lets an audit read; its options are already checked."""
    return Budget(options.budget_bytes, options.limit, parse_percent(options.sample) if options.sample else None)


def source_of(options: Options, live: Live | None = None) -> Source:
    """The source that a command line names, and how it is asked.

    Args:
        options: of the command line.
        live: the cluster, where more is known of it than `live_of` says.

    Raises:
        UsageError: it is no folder or bucket.
    """
    from pulsar_backlog.ledgers.store import open_source  # noqa: PLC0415 - help and mistakes wait for this module

    bounds = {
        "attempts": options.store_attempts,
        "timeout_seconds": options.store_timeout_seconds,
        "range_bytes": options.store_range_bytes,
        "concurrency": options.store_concurrency,
    }
    access = replace(DEFAULT_ACCESS, **{name: value for name, value in bounds.items() if value is not None})
    return open_source(options.source or "", options.endpoint, access, live or live_of(options))
