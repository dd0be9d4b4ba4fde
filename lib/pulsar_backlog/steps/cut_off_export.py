"""Messages behind the recorded ends of ledgers, exported into a folder of their own: no client reads them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import DataFrame

from pulsar_backlog.counting import counted
from pulsar_backlog.errors import UsageError
from pulsar_backlog.frames.export.decoded import shaped
from pulsar_backlog.frames.export.messages import exported_entries
from pulsar_backlog.frames.export.plan import BIN_BYTES, pack
from pulsar_backlog.messages.entry_rows import ExportContext
from pulsar_backlog.messages.keys import KeySource
from pulsar_backlog.messages.kinds import CANNOT_TELL, NO_TRANSACTION
from pulsar_backlog.options import Options, parse_instant
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.steps.cut_off_messages import cut_off_messages
from pulsar_backlog.steps.decoded_export import plain_shape
from pulsar_backlog.steps.exporting import store_of

MAX_MESSAGES = 100_000
"""Entries behind the ends of ledgers that one export takes."""
_NO_MESSAGES = ("chunk", "marker")
_PLAN = (
    "ledger_id bigint, entry_id bigint, uri string, offset bigint, length int, inner_offset bigint, "
    "block_length bigint, txn_state int, batched int, bin bigint, bytes bigint"
)
_REFUSED = ("key", "state", "decode")


def check_cut_off_options(context: JobContext) -> None:
    """Refuse what does not go with these messages.

    Raises:
        UsageError: an option that they have no answer to, or no folder of their own.
    """
    options = context.options
    if options.to is None or options.to.rstrip("/") == context.out.rstrip("/"):
        raise UsageError(
            "--only-cut-off needs --to DIR, a folder of its own: what no client reads must not lie among exported "
            "messages of the log"
        )
    given = [name for name in _REFUSED if getattr(options, name) is not None]
    if given:
        raise UsageError(f"--only-cut-off and --{given[0]}: give only one of them")
    if not context.has("cut_off_entries"):
        raise UsageError(f"{context.out} says nothing of entries behind the ends of ledgers: audit the source again")


def exported_cut_off(context: JobContext, topics: Sequence[str] | None) -> DataFrame:
    """Rows of `messages`, not run yet; what is left out is said."""
    rows = cut_off_messages(context, topics, MAX_MESSAGES + 1)
    chosen = [row for row in rows[:MAX_MESSAGES] if _is_wanted(row, context.options)]
    whole = [row for row in chosen if row["hindrance"] is not None and row["hindrance"] not in _NO_MESSAGES]
    for sentence in _left_out(rows, chosen, whole):
        sys.stderr.write(sentence)
    shared = ExportContext(
        cluster=context.cluster,
        topics={row["ledger_id"]: row["topic"] for row in whole},
        source=context.source(),
        keys=KeySource(context.options.private_keys, context.options.private_keys_command),
        store=store_of(context.options),
    )
    plan = context.spark.createDataFrame([_planned(row) for row in whole], _PLAN)
    exported = exported_entries(pack(plan, context.spark.sparkContext.defaultParallelism), shared)
    shape = plain_shape(context)
    return shaped(exported, shape) if shape.masks else exported


def _is_wanted(row: dict[str, Any], options: Options) -> bool:
    since = parse_instant(options.since).timestamp() * 1000 if options.since else None
    until = parse_instant(options.until).timestamp() * 1000 if options.until else None
    time_ms = row["publish_time_ms"]
    return (
        (not options.producer or row["producer_name"] in options.producer)
        and (since is None or time_ms >= since)
        and (until is None or time_ms < until)
    )


def _planned(row: dict[str, Any]) -> tuple[object, ...]:
    state = CANNOT_TELL if row["hindrance"] == "transaction" else NO_TRANSACTION
    place = (row["uri"], row["offset"], row["length"], None, None)
    bin_ = row["offset"] // BIN_BYTES
    return (row["ledger_id"], row["entry_id"], *place, int(state), int(bool(row["batched"])), bin_, row["length"])


def _left_out(
    rows: Sequence[dict[str, Any]], chosen: Sequence[dict[str, Any]], whole: Sequence[dict[str, Any]]
) -> Iterator[str]:
    unknown = sum(row["hindrance"] is None for row in chosen)
    if unknown:
        yield f"{counted(unknown, 'entry is', 'entries are')} left out: audit the source again with this version.\n"
    parts = len(chosen) - len(whole) - unknown
    if parts:
        yield f"{counted(parts, 'chunk or marker is', 'chunks and markers are')} left out: alone they are no message.\n"
    if len(rows) > MAX_MESSAGES:
        yield f"Only the first {MAX_MESSAGES:,} are exported: name topics with --topic for the others.\n"
