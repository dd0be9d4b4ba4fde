"""An export with typed columns: a table for each topic, all its partitions together."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame

from pulsar_backlog.errors import UsageError
from pulsar_backlog.frames.export.decoded import Shape, shaped
from pulsar_backlog.frames.export.filters import Filters
from pulsar_backlog.messages.keys import KeySource
from pulsar_backlog.messages.masking import check_masks, masks_of
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.messages import is_decoded, read_decoded, write_decoded
from pulsar_backlog.schemas.saved import unpartitioned
from pulsar_backlog.schemas.values import SchemaInfo
from pulsar_backlog.steps.exporting import exported, of_topics, topics_of
from pulsar_backlog.steps.internal_ledgers import internal_copies
from pulsar_backlog.steps.stored_schemas import stored_versions
from pulsar_backlog.steps.topic_schemas import schemas_for

NEEDED = ("topic", "ledger_id", "entry_id", "outcome", "verified", "reason", "transaction", "payload_bytes")
"""Columns by which an export is judged: they are there whichever are asked for."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]")


@dataclass(frozen=True)
class DecodedTable:
    """Where the messages of a topic go.

    Attributes:
        topics: its partitions, or itself.
        name: of its folder.
        shape: how they are decoded.
    """

    topics: tuple[str, ...]
    name: str
    shape: Shape


def plain_shape(context: JobContext) -> Shape:
    """What becomes of messages that are not decoded.

    Raises:
        UsageError: a mask names what is not there, or files are to hold payloads that are masked.
    """
    options = context.options
    if options.columns and not options.decode:
        raise UsageError("--columns is for decoded messages: say --decode too")
    if options.format == "files" and (options.mask or options.decode):
        raise UsageError("--decode and --mask need --format delta or parquet: files hold payloads as they were sent")
    shape = Shape(masks=masks_of(options.mask or ()))
    if not options.decode:
        check_masks(shape.masks, shape.schema)
    return shape


def decoded_tables(context: JobContext, wanted: Iterable[str] | None) -> list[DecodedTable]:
    """A table for each wanted topic; none where nothing is decoded.

    Raises:
        UsageError: no schema of a topic is known, or a column is not there.
    """
    options = context.options
    if not options.decode:
        return []
    grouped: dict[str, list[str]] = {}
    for topic in sorted({topic for topic in topics_of(context).values() if topic is not None}):
        if wanted is None or topic in wanted:
            grouped.setdefault(unpartitioned(topic), []).append(topic)
    masks = masks_of(options.mask or ())

    def stored(topic: str) -> Mapping[int, SchemaInfo]:
        return stored_versions(context.source(), list(internal_copies(context)), options.schemas, topic)

    tables = []
    for topic, own in grouped.items():
        shape = Shape(schemas_for(options.decode, own, options, stored), masks, _columns(options.columns))
        check_masks(masks, shape.schema)
        unknown = [name for name in shape.columns if name not in shape.schema.names]
        if unknown:
            raise UsageError(f"--columns: {topic} has no column {', '.join(unknown)}")
        tables.append(DecodedTable(tuple(own), _folder_name(topic), shape))
    if not tables:
        raise UsageError("--decode: nothing names the topic of a ledger here")
    return tables


def _columns(names: Iterable[str] | None) -> tuple[str, ...]:
    return () if not names else tuple(dict.fromkeys((*names, *NEEDED)))


def _folder_name(topic: str) -> str:
    """`tenant__namespace__topic`; with a digest where that is not the whole name."""
    plain = topic.split("://", 1)[-1].replace("/", "__")
    name = _NOT_IN_NAMES.sub("_", plain)[:150]
    is_whole = name == plain and "__".join(topic.split("://", 1)[-1].split("/")) == name and name.count("__") == 2
    return name if is_whole else f"{name}-{hashlib.sha256(topic.encode()).hexdigest()[:12]}"


def digest_of(tables: Iterable[DecodedTable]) -> Mapping[str, str]:
    """What of schemas decides an export, by table."""
    return {table.name: hashlib.sha256(repr(table.shape).encode()).hexdigest() for table in tables}


def are_there(context: JobContext, tables: Iterable[DecodedTable]) -> bool:
    """Whether all of them were written in this form."""
    return all(is_decoded(context, table.name) for table in tables)


def write_tables(
    context: JobContext,
    tables: Iterable[DecodedTable],
    messages: DataFrame,
    publications: DataFrame,
    filters: Filters,
    keys: KeySource,
) -> DataFrame:
    """Write each table; the columns of all by which the export is judged."""
    written = []
    for table in tables:
        own = list(table.topics)
        rows = exported(context, of_topics(messages, own), of_topics(publications, own), filters, keys)
        write_decoded(context, shaped(rows, table.shape), table.name)
        written.append(read_decoded(context, table.name).select(*NEEDED))
    return reduce(DataFrame.unionByName, written)
