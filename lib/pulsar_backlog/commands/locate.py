"""`locate`: where a saved id, an index, a uuid or a time lies, and where to seek for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from pulsar_backlog.arguments import absolute
from pulsar_backlog.commands.options import OutArgument
from pulsar_backlog.config import home
from pulsar_backlog.errors import UsageError
from pulsar_backlog.options import parse_instant
from pulsar_backlog.report.terminal.locate import Located, doubts_about_id, located_entry, located_time, print_located
from pulsar_backlog.wire.message_id import parse_message_id

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MAX_ANSWERS = 1000
MAX_INDEX = (1 << 63) - 1
_ID_HELP = "message id: LEDGER:ENTRY[:PARTITION[:BATCH]], as a client prints it, or serialized in base64 or hex"
_TABLES = ("entries", "chunks", "chunked_messages")
_MILLISECONDS = re.compile(r"\d{12,16}", re.ASCII)
"""From the year 1973 on: fewer digits are seconds, and those are not taken for a time in 1970."""


@dataclass(frozen=True)
class Positions:
    """Rows of `entries` and of the view `seek_positions`, of the topics asked for."""

    entries: DataFrame
    seek: DataFrame


def locate(
    out: OutArgument,
    id_: Annotated[str | None, typer.Option("--id", help=_ID_HELP)] = None,
    uuid: Annotated[str | None, typer.Option(help="uuid of a chunked message")] = None,
    index: Annotated[int | None, typer.Option(min=0, max=MAX_INDEX, help="the broker's message index (PIP-70)")] = None,
    time: Annotated[str | None, typer.Option(help="time, ISO 8601 (UTC) or milliseconds since 1970")] = None,
    topic: Annotated[str | None, typer.Option(help="only topics that match this glob")] = None,
    cluster: Annotated[str | None, typer.Option(help="only this cluster's tables")] = None,
) -> None:
    """Say where an id, uuid, index or time lies in the tables in DIR, and where to seek for it."""
    asked = {"--id": id_, "--uuid": uuid, "--index": index, "--time": time}
    given = [name for name, value in asked.items() if value is not None]
    if len(given) != 1:
        raise UsageError("give one of --id, --uuid, --index and --time")
    answers: Callable[[Positions], Iterator[Located]]
    if id_ is not None:
        answers = _of_id(id_)
    elif time is not None:
        answers = _of_time(time)
    else:
        answers = _of_uuid(uuid) if uuid is not None else _of_index(index or 0)
    found = list(answers(_positions(absolute("out", out) or "", topic, cluster)))
    if not found:
        raise UsageError(f"{given[0]}: nothing of it is in the tables of {out}; was its ledger in the audit?")
    print_located(found, Console())


def _positions(out: str, topic: str | None, cluster: str | None) -> Positions:
    """The entries, and where to seek for each. Only the tables this needs are opened: a start takes long enough."""
    from pulsar_backlog.frames.report.locating import of_topics  # noqa: PLC0415 - starts Spark
    from pulsar_backlog.storage.delta import exists, read_table  # noqa: PLC0415
    from pulsar_backlog.storage.session import start_session  # noqa: PLC0415
    from pulsar_backlog.tables import TABLES  # noqa: PLC0415

    spark = start_session("pulsar-backlog locate", out)
    if not exists(spark, out, TABLES["entries"]):
        raise UsageError(f"{out} holds no tables: give the folder that was --out of an audit")
    for name in _TABLES:
        read_table(spark, out, TABLES[name]).createOrReplaceTempView(name)
    view = spark.sql((home() / "conf" / "sql" / "seek_positions.sql").read_text())
    return Positions(of_topics(spark.table("entries"), topic, cluster), of_topics(view, topic, cluster))


def _of_id(text: str) -> Callable[[Positions], Iterator[Located]]:
    wanted = parse_message_id(text)  # before Spark: a wrong id is told at once

    def answers(positions: Positions) -> Iterator[Located]:
        from pulsar_backlog.frames.report.locating import at_position  # noqa: PLC0415

        for row in _rows(at_position(positions.seek, wanted.ledger_id, wanted.entry_id)):
            yield located_entry(text, row, tuple(doubts_about_id(wanted, row)))

    return answers


def _of_uuid(uuid: str) -> Callable[[Positions], Iterator[Located]]:
    def answers(positions: Positions) -> Iterator[Located]:
        from pulsar_backlog.frames.report.locating import of_uuid  # noqa: PLC0415

        yield from (located_entry(uuid, row) for row in _rows(of_uuid(positions.seek, uuid)))

    return answers


def _of_index(index: int) -> Callable[[Positions], Iterator[Located]]:
    def answers(positions: Positions) -> Iterator[Located]:
        from pulsar_backlog.frames.report.locating import at_index  # noqa: PLC0415

        for row in _rows(at_index(positions.seek, index)):
            batched = (row["num_messages_in_batch"] or 0) > 1
            notes = (f"it is message {index - row['first_index']} of the batch, counted from 0",) if batched else ()
            yield located_entry(f"index {index}", row, notes)

    return answers


def _of_time(text: str) -> Callable[[Positions], Iterator[Located]]:
    try:
        in_ms = _MILLISECONDS.fullmatch(text)
        instant = datetime.fromtimestamp(int(text) / 1000, UTC) if in_ms else parse_instant(text)
    except (ValueError, OverflowError, OSError):
        forms = "neither an ISO 8601 time such as 2026-11-21T10:00:00Z nor milliseconds since 1970"
        raise UsageError(f"--time: {text!r} is {forms}") from None
    time_ms = round(instant.timestamp() * 1000)

    def answers(positions: Positions) -> Iterator[Located]:
        from pulsar_backlog.frames.report.locating import around_time, at_positions  # noqa: PLC0415

        # The times are those of `entries`; only for what was found the joins of the view are worth their while.
        sides = list(_rows(around_time(positions.entries, time_ms).orderBy("cluster", "topic", "clock")))
        places = {_position(side["after"]) for side in sides if side["after"]}
        rows = _rows(at_positions(positions.seek, places)) if places else ()
        found = {(row["cluster"], row["ledger_id"], row["entry_id"]): row for row in rows}
        for side in sides:
            row = found[side["cluster"], *_position(side["after"])] if side["after"] else None
            yield located_time(text, side, row)

    return answers


def _position(place: dict[str, int]) -> tuple[int, int]:
    return place["ledger_id"], place["entry_id"]


def _rows(frame: DataFrame) -> Iterator[dict[str, Any]]:
    return (row.asDict(recursive=True) for row in frame.limit(MAX_ANSWERS).collect())
