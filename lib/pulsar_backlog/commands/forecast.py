"""`forecast`: what consumers, and events, would make of a saved subscription, without a JVM."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from pulsar_backlog.arguments import absolute
from pulsar_backlog.commands.options import EndpointOption, JsonOption, OutArgument
from pulsar_backlog.errors import UsageError

if TYPE_CHECKING:
    from pulsar_backlog.chunks.dispatch.settings import BrokerLine, DispatchType

_CONSUMERS = (
    "clients that connect, in order, such as 'java 4.2 x 2, python'; named c1, c2, c3; 'java 4.2 rejects 2' and "
    "'java 4.2 times out 2' make every message a dead letter after two redeliveries"
)
_EVENTS = (
    "what happens then, in order: unload, 'leave c1', 'kill c1', 'cut c1', 'join java 4.2', restart, "
    "'rolling restart'; may be given several times"
)
_TYPES: tuple[DispatchType, ...] = ("Exclusive", "Failover", "Shared", "Key_Shared")
_BROKERS: tuple[BrokerLine, ...] = ("4.0", "4.2", "5.0")


def forecast(
    out: OutArgument,
    topic: Annotated[str, typer.Option(help="full name of the topic or partition")],
    subscription: Annotated[str, typer.Option(help="its subscription")],
    consumers: Annotated[str, typer.Option(help=_CONSUMERS)],
    event: Annotated[list[str] | None, typer.Option(help=_EVENTS)] = None,
    broker: Annotated[
        str | None,
        typer.Option(metavar="|".join(_BROKERS), help="its release line; default: as a snapshot says, else 4.0"),
    ] = None,
    type_: Annotated[
        str | None, typer.Option("--type", metavar="|".join(_TYPES), help="subscription type; default: as it was saved")
    ] = None,
    queue: Annotated[int, typer.Option(min=1, help="receiver queue size of every consumer")] = 1000,
    endpoint: EndpointOption = None,
    as_json: JsonOption = False,
) -> None:
    """Forecast what consumers that connect, and events after that, deliver, lose and leave of a subscription.

    The first line is the verdict. Without an event, remedies are tried where something stays or is lost.
    """
    from pulsar_backlog.chunks.dispatch.brokers import broker_for
    from pulsar_backlog.chunks.dispatch.forecast import MAX_ENTRIES, StoredEntry, consumers_of
    from pulsar_backlog.chunks.dispatch.forecast import forecast as foresee
    from pulsar_backlog.chunks.dispatch.remedies import best_remedy, needs_remedy, tried_remedies
    from pulsar_backlog.report.terminal.forecast import forecast_lines, forecast_rows, verdict_line
    from pulsar_backlog.sql.saved_brokers import saved_brokers
    from pulsar_backlog.sql.unacknowledged import unacknowledged
    from pulsar_backlog.terminal import terminal

    line = next((one for one in _BROKERS if one == broker), None)
    if line is None and broker is not None:
        raise UsageError(f"--broker: {broker!r} is none of {', '.join(_BROKERS)}")
    out_folder = absolute("out", out) or ""
    backlog = unacknowledged(out_folder, topic, subscription, MAX_ENTRIES, endpoint)
    played = broker_for(saved_brokers(out_folder, backlog.cluster, endpoint), line)
    batches = played.read_batches
    dispatch = next((one for one in _TYPES if one == (type_ or backlog.subscription_type)), None)
    if dispatch is None:
        raise UsageError(f"--type: the type of {subscription!r} was not saved; give one of {', '.join(_TYPES)}")
    entries = [StoredEntry.of(row) for row in backlog.entries]
    try:
        clients = consumers_of(consumers, queue)
        stages = foresee(entries, clients, event or (), broker=played.line, dispatch=dispatch, read_batches=batches)
        wanted = not event and needs_remedy(stages[-1])
        tried = list(tried_remedies(entries, clients, played.line, dispatch, batches)) if wanted else []
    except ValueError as error:
        raise UsageError(str(error)) from None
    remedy = best_remedy(stages[-1], tried)
    console = terminal()
    if as_json or not console.is_terminal:
        console.file.writelines(json.dumps(row) + "\n" for row in forecast_rows(stages, played, remedy, tried))
    else:
        console.file.write(verdict_line(stages, remedy, tried) + "\n")
        console.file.writelines(line + "\n" for line in forecast_lines(stages, len(entries), dispatch, played.words))
