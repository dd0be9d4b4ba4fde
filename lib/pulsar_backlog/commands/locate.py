"""`locate`: where a saved id, an index, a uuid or a time lies, and where to seek for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from pulsar_backlog.arguments import absolute
from pulsar_backlog.commands.options import EndpointOption, OutArgument
from pulsar_backlog.errors import UsageError
from pulsar_backlog.options import parse_instant

if TYPE_CHECKING:
    from pulsar_backlog.report.terminal.locate import Located
    from pulsar_backlog.sql.locating import Positions
    from pulsar_backlog.terms import Position

MAX_INDEX = (1 << 63) - 1
_ID_HELP = "message id: LEDGER:ENTRY[:PARTITION[:BATCH]], as a client prints it, or serialized in base64 or hex"
_MILLISECONDS = re.compile(r"\d{12,16}", re.ASCII)
"""From the year 1973 on: fewer digits are seconds, and those are not taken for a time in 1970."""


def locate(
    out: OutArgument,
    id_: Annotated[str | None, typer.Option("--id", help=_ID_HELP)] = None,
    uuid: Annotated[str | None, typer.Option(help="uuid of a chunked message")] = None,
    index: Annotated[int | None, typer.Option(min=0, max=MAX_INDEX, help="the broker's message index (PIP-70)")] = None,
    time: Annotated[str | None, typer.Option(help="time, ISO 8601 (UTC) or milliseconds since 1970")] = None,
    topic: Annotated[str | None, typer.Option(help="only topics that match this glob")] = None,
    cluster: Annotated[str | None, typer.Option(help="only this cluster's tables")] = None,
    endpoint: EndpointOption = None,
) -> None:
    """Say where an id, uuid, index or time lies in the tables in DIR, and where to seek for it."""
    questions = {"--id": id_, "--uuid": uuid, "--index": index, "--time": time}
    given = [name for name, value in questions.items() if value is not None]
    if len(given) != 1:
        raise UsageError("give one of --id, --uuid, --index and --time")
    answers: Callable[[Positions], Iterator[Located]]
    if id_ is not None:
        answers = _of_id(id_)
    elif time is not None:
        answers = _of_time(time)
    else:
        answers = _of_uuid(uuid) if uuid is not None else _of_index(index or 0)
    from pulsar_backlog.report.terminal.locate import print_located
    from pulsar_backlog.sql.locating import Positions
    from pulsar_backlog.terminal import terminal

    places = list(answers(Positions(absolute("out", out) or "", topic, cluster, endpoint)))
    if not places:
        raise UsageError(f"{given[0]}: the tables of {out} do not hold it; was its ledger in the audit?")
    print_located(places, terminal())


def _of_id(text: str) -> Callable[[Positions], Iterator[Located]]:
    from pulsar_backlog.report.terminal.locate import doubts_about_id, located_entry
    from pulsar_backlog.wire.message_id import parse_message_id

    wanted = parse_message_id(text)

    def answers(positions: Positions) -> Iterator[Located]:
        for row in positions.at([(wanted.ledger_id, wanted.entry_id)]):
            yield located_entry(text, row, tuple(doubts_about_id(wanted, row)))

    return answers


def _of_uuid(uuid: str) -> Callable[[Positions], Iterator[Located]]:
    from pulsar_backlog.report.terminal.locate import located_entry

    return lambda positions: (located_entry(uuid, row) for row in positions.of_uuid(uuid))


def _of_index(index: int) -> Callable[[Positions], Iterator[Located]]:
    from pulsar_backlog.report.terminal.locate import located_entry

    def answers(positions: Positions) -> Iterator[Located]:
        for row in positions.at_index(index):
            batched = (row["num_messages_in_batch"] or 0) > 1
            notes = (f"it is message {index - row['first_index']} of the batch, counted from 0",) if batched else ()
            yield located_entry(f"index {index}", row, notes)

    return answers


def _of_time(text: str) -> Callable[[Positions], Iterator[Located]]:
    from pulsar_backlog.report.terminal.locate import located_time

    try:
        in_ms = _MILLISECONDS.fullmatch(text)
        instant = datetime.fromtimestamp(int(text) / 1000, UTC) if in_ms else parse_instant(text)
    except (ValueError, OverflowError, OSError):
        forms = "neither an ISO 8601 time such as 2026-11-21T10:00:00Z nor milliseconds since 1970"
        raise UsageError(f"--time: {text!r} is {forms}") from None
    time_ms = round(instant.timestamp() * 1000)

    def answers(positions: Positions) -> Iterator[Located]:
        # The times are those of `entries`; only for what was found the joins of the view are worth their while.
        sides = positions.around(time_ms)
        rows = positions.at({_position(side["after"]) for side in sides if side["after"]})
        by_place = {(row["cluster"], row["ledger_id"], row["entry_id"]): row for row in rows}
        for side in sides:
            row = by_place[side["cluster"], *_position(side["after"])] if side["after"] else None
            yield located_time(text, side, row)

    return answers


def _position(place: Mapping[str, int]) -> Position:
    return place["ledger_id"], place["entry_id"]
