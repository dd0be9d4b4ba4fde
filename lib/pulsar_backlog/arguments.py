"""The jobs' command lines: one parser for every job, made from the options that `options.py` declares."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from pulsar_backlog.errors import UsageError
from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.options import HELP, JOB_OPTIONS, REQUIRED, Options, given_options, in_time_order, parse_instant

_REPEATED = ("topic", "ledger", "model", "producer", "key", "state", "subscription", "code", "message")
_SWITCHES = ("exit_zero_when_unchanged", "as_stored")
_PLACES = ("source", "out", "admin", "to", "private_keys", "exported", "earlier")
_DEFAULTS = {
    "cluster": "default",
    "fail_on": "error",
    "grace_seconds": 120,
    "transactions": "committed",
    "format": "delta",
    "inline_limit_bytes": 262144,
    "max_message_bytes": 1 << 30,
    "republish_to": "same",
}


def job_parser(job: str, description: str) -> argparse.ArgumentParser:
    """The parser of one job's options."""
    parser = argparse.ArgumentParser(
        prog=f"jobs/{job}.py", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in JOB_OPTIONS[job]:
        flag = f"--{name.replace('_', '-')}"
        if name in _SWITCHES:
            parser.add_argument(flag, action="store_true", help=HELP[name])
        elif name in _REPEATED:
            parser.add_argument(flag, action="append", help=HELP[name])
        else:
            default = _DEFAULTS.get(name)
            parser.add_argument(flag, required=name in REQUIRED, default=default, help=HELP[name])
    return parser


def parse_options(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> Options:
    """The options of a command line, checked, with the folders made absolute.

    Raises:
        UsageError: an option's value is wrong; the message names the option and the remedy.
    """
    given = {name: value for name, value in vars(parser.parse_args(argv)).items() if value is not None}
    options = in_time_order(given_options(given))
    return options.model_copy(update={name: absolute(name, getattr(options, name)) for name in _PLACES})


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
