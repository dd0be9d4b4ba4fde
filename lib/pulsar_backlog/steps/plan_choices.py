"""What a command line asks of a repair plan."""

from __future__ import annotations

from pulsar_backlog.errors import UsageError
from pulsar_backlog.findings import CATALOGUE, SEVERITIES
from pulsar_backlog.options import Options, parse_duration_ms
from pulsar_backlog.repair.planning.values import Choices
from pulsar_backlog.terms import position_of


def choices_of(options: Options, newest_ms: int | None) -> Choices:
    """What a command line asks for."""
    until_ms = None
    if options.min_age is not None and newest_ms is not None:
        until_ms = newest_ms - parse_duration_ms(options.min_age)
    codes = frozenset(options.code or ())
    if options.severity is not None:
        wanted = SEVERITIES[: SEVERITIES.index(options.severity) + 1]
        bad = frozenset(code for code, kind in CATALOGUE.items() if kind.severity in wanted)
        codes = codes & bad if codes else bad
    if options.severity is not None and not codes:
        raise UsageError(f"--code and --severity {options.severity}: no such code has that severity")
    if options.as_stored and options.republish_to == "file":
        raise UsageError("--as-stored publishes and --republish-to file does not: give only one of them")
    if options.cut_off and (options.republish_to or "same") != "same":
        raise UsageError(
            f"--cut-off publishes to the topic that lost the messages, not to {options.republish_to}: leave "
            "--republish-to out"
        )
    return Choices(
        republish_to=options.republish_to or "same",
        accept_unsure=options.accept_unsure,
        subscriptions=options.subscription or (),
        codes=codes,
        until_ms=until_ms,
        max_count=options.max_count,
        max_bytes=options.max_bytes,
        as_stored=bool(options.as_stored),
        cut_off=options.cut_off,
        give_up=frozenset(map(position_of, options.give_up or ())),
    )
