"""`rebuild-topic`: what is stored of a topic, published into a new one. Nothing is changed without --yes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pulsar_backlog.arguments import absolute, scope_of, source_of
from pulsar_backlog.commands.connection import Connection, connected
from pulsar_backlog.commands.options import Given, SourceArgument, job_options
from pulsar_backlog.errors import UsageError
from pulsar_backlog.ledgers.live.service import DEFAULT_RATE, is_service
from pulsar_backlog.options import given_options
from pulsar_backlog.options.printed import COMMAND_OPTIONS
from pulsar_backlog.terminal import terminal
from pulsar_backlog.terms import EXIT_CLEAN, EXIT_FINDINGS, EXIT_UNCHANGED

if TYPE_CHECKING:
    from pulsar_backlog.cluster.access import Access
    from pulsar_backlog.repair.rebuilding.content import Content
    from pulsar_backlog.repair.rebuilding.publishing import Published


@job_options(
    *COMMAND_OPTIONS["rebuild-topic"],
    words={"topic": "the topic to rebuild, where the source holds several", "ledger": "ledgers of it, where not all"},
)  # fmt: skip
@connected
def rebuild_topic(
    source: SourceArgument,
    given: Given,
    connection: Connection,
    to_topic: Annotated[
        str, typer.Option("--to-topic", help="full name of the new topic, which holds nothing yet", show_default=False)
    ],
    service_url: Annotated[
        str | None, typer.Option("--service-url", help="the brokers' service, such as pulsar://broker:6650")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="publish; without this, say only what would be done")] = False,
    skip_damaged: Annotated[
        bool, typer.Option("--skip-damaged", help="publish although entries are damaged or missing, without them")
    ] = False,
    max_rate: Annotated[int, typer.Option("--max-rate", min=1, help="bytes a second to publish")] = DEFAULT_RATE,
) -> None:
    """Publish what is stored of a topic into a new one, entry by entry as it was; may be started again when killed."""
    from pulsar_backlog.counting import counted
    from pulsar_backlog.repair.rebuilding.content import take_content
    from pulsar_backlog.report.terminal.rebuilt_topic import print_rebuilt_topic, unusable_words

    _check(source, to_topic, service_url, yes=yes)
    access = connection.access()
    options = given_options({**given, "source": absolute("source", source)})
    content = take_content(source_of(options), Path(options.admin) if options.admin else None, scope_of(options))
    done = None
    if yes and service_url is not None:
        if content.tally.damaged and not skip_damaged:
            raise UsageError(
                f"{counted(content.tally.damaged, 'entry')} {unusable_words(content.tally.undecided)}, first "
                f"{content.tally.places[0]}; nothing was published: {_remedy(content)}, or say --skip-damaged to go "
                "without them"
            )
        done = _publish(service_url, to_topic, content, access, max_rate)
    print_rebuilt_topic(_summary(content, to_topic, done), terminal())
    if done is None:
        raise typer.Exit(EXIT_FINDINGS if content.tally.damaged else EXIT_CLEAN)
    raise typer.Exit(EXIT_CLEAN if done.now else EXIT_UNCHANGED)


def _remedy(content: Content) -> str:
    if content.tally.undecided < content.tally.damaged:
        return "mend the source"
    return "give a dump of the metadata store with --admin, taken when those transactions had ended"


def _check(source: str, to_topic: str, service_url: str | None, *, yes: bool) -> None:
    """Whether the command line makes sense, before anything is read.

    Raises:
        UsageError: it does not.
    """
    from pulsar_backlog.protocol.addresses import addresses_of
    from pulsar_backlog.wire.names import managed_ledger_of_topic

    if is_service(source):
        raise UsageError(f"{source}: a topic is rebuilt from what is stored: name a folder, a bucket or bookies")
    try:
        managed_ledger_of_topic(to_topic)
    except ValueError as error:
        raise UsageError(f"--to-topic {to_topic}: {error}; write persistent://TENANT/NAMESPACE/TOPIC") from None
    if yes and service_url is None:
        raise UsageError("--yes publishes: say where, with --service-url pulsar://broker:6650")
    if service_url is not None and not addresses_of(service_url):
        raise UsageError(f"--service-url {service_url}: expected pulsar://host:port or pulsar+ssl://host:port")


def _publish(service_url: str, topic: str, content: Content, access: Access, max_rate: int) -> Published:
    from pulsar_backlog.ledgers.live.pace import Pace
    from pulsar_backlog.protocol.connection import Service
    from pulsar_backlog.repair.rebuilding.publishing import published

    return published(Service(service_url, access), topic, content, Pace(max_rate))


def _summary(content: Content, to_topic: str, done: Published | None) -> dict[str, object]:
    """What is said, named as in the JSON that comes where no one looks."""
    from dataclasses import asdict

    return {
        "topic": content.topic,
        "to_topic": to_topic,
        "ledgers": [copy.ledger_id for copy in content.copies],
        "done": done is not None,
        "published_before": done.before if done else 0,
        "published_now": done.now if done else 0,
        **asdict(content.tally),
    }
