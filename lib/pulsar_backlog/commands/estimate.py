"""`estimate`: what an audit will read, ask for, cost and take."""

from __future__ import annotations

from typing import Annotated

import typer

from pulsar_backlog.arguments import absolute, scope_of, source_of
from pulsar_backlog.commands.options import Given, SourceArgument, job_options
from pulsar_backlog.errors import UsageError
from pulsar_backlog.ledgers.live.service import is_service
from pulsar_backlog.options import given_options
from pulsar_backlog.options.printed import COMMAND_OPTIONS, Run
from pulsar_backlog.terms import EXIT_CLEAN, EXIT_INCOMPLETE

_PRICE = "price of {}, for the costs; default as S3 lists it in us-east-1"


@job_options(*COMMAND_OPTIONS["estimate"])
def estimate(
    source: SourceArgument,
    given: Given,
    sample_bytes: Annotated[int, typer.Option(min=1, help="bytes that are read to measure the speed")] = 64 * 1024**2,
    processes: Annotated[
        int | None, typer.Option(min=1, help="processes of the audit; default: the processors of this machine")
    ] = None,
    price_gets: Annotated[float, typer.Option(min=0, help=_PRICE.format("1000 requests that read"))] = 0.0004,
    price_lists: Annotated[float, typer.Option(min=0, help=_PRICE.format("1000 requests that list"))] = 0.005,
    price_gb: Annotated[float, typer.Option(min=0, help="price of 10^9 bytes that leave the bucket's region")] = 0.0,
) -> None:
    """Say how many objects, bytes, requests and minutes an audit needs, and its price; reads a sample to measure."""
    from pulsar_backlog.estimate import Prices, estimate
    from pulsar_backlog.report.terminal.estimated import print_estimate
    from pulsar_backlog.terminal import terminal

    if is_service(source):
        raise UsageError(
            f"{source}: live topics are not estimated, only offloaded ledgers: audit them, with --budget-bytes for the "
            "most that is read and --max-rate for how fast"
        )
    options = given_options({**given, "source": absolute("source", source)})
    prices = Prices(price_gets, price_lists, price_gb)
    result = estimate(source_of(options), scope_of(options), prices, sample_bytes, processes)
    run = Run(options.source or "", "DIR", options.model_dump(exclude_none=True))
    print_estimate(result, run, terminal())
    raise typer.Exit(EXIT_INCOMPLETE if result.unreadable else EXIT_CLEAN)
