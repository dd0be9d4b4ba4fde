"""The jobs' command lines: one parser for every job, made from the options that `config.py` declares."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from pulsar_backlog.config import JOB_OPTIONS, Options, given_options, parse_instant
from pulsar_backlog.errors import UsageError

HELP: dict[str, str] = {
    "source": "folder or s3://bucket[/prefix] that holds the offloaded ledgers",
    "endpoint": "S3 endpoint, where it is not AWS",
    "admin": "folder of saved admin JSON (stats-internal, info-internal, stats)",
    "topic": "only topics that match this glob; may be repeated",
    "ledger": "only this ledger id or range A-B; may be repeated",
    "since": "only ledgers that may hold messages from this time on (ISO 8601, UTC)",
    "until": "only ledgers that may hold messages before this time (ISO 8601, UTC)",
    "out": "folder of tables and reports",
    "cluster": "name of the Pulsar cluster in the tables",
    "fail_on": "lowest severity of findings that makes the exit code 1: error, warning or never",
    "exit_zero_when_unchanged": "exit 0 instead of 99 when there was nothing new to do",
    "grace_seconds": "how near the end of the log an incomplete message may still be arriving",
}
"""What each option says of itself, on every command line."""

_REPEATED = ("topic", "ledger")
_REQUIRED = ("source", "out")
_DEFAULTS = {"cluster": "default", "fail_on": "error", "grace_seconds": 120}


def job_parser(job: str, description: str) -> argparse.ArgumentParser:
    """The parser of one job's options."""
    parser = argparse.ArgumentParser(
        prog=f"jobs/{job}.py", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in JOB_OPTIONS[job]:
        flag = f"--{name.replace('_', '-')}"
        if name == "exit_zero_when_unchanged":
            parser.add_argument(flag, action="store_true", help=HELP[name])
        elif name in _REPEATED:
            parser.add_argument(flag, action="append", help=HELP[name])
        else:
            default = _DEFAULTS.get(name)
            parser.add_argument(flag, required=name in _REQUIRED, default=default, help=HELP[name])
    return parser


def parse_options(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> Options:
    """The options of a command line, checked, with the folders made absolute.

    Raises:
        UsageError: an option's value is wrong; the message names the option and the remedy.
    """
    given = {name: value for name, value in vars(parser.parse_args(argv)).items() if value is not None}
    options = given_options(given)
    if options.since and options.until and parse_instant(options.since) >= parse_instant(options.until):
        raise UsageError(f"--since {options.since} is not before --until {options.until}: swap them")
    return options.model_copy(
        update={name: absolute(name, getattr(options, name)) for name in ("source", "out", "admin")}
    )


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
