"""`spark.read.format("pulsar-backlog")`: messages and entries of topics as Spark rows; partitions are scan units.

Nothing of ours lies on executors but the package. What a filter or a schema rules out is not read or not given out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from pulsar_backlog.api import entry_reader
from pulsar_backlog.api.backlog import Backlog
from pulsar_backlog.api.spark_filters import narrowed
from pulsar_backlog.api.spark_options import SparkOptions
from pulsar_backlog.api.spark_rows import spark_batch
from pulsar_backlog.api.spark_stream import BacklogStreamReader
from pulsar_backlog.api.typed import message_schema
from pulsar_backlog.api.wanted import Wanted
from pulsar_backlog.errors import UsageError
from pulsar_backlog.grouping import groups_of
from pulsar_backlog.ledgers.values import UNIT_BYTES, LedgerCopy, ScanUnit
from pulsar_backlog.messages.masking import check_masks
from pulsar_backlog.scanning.packs import pack_bytes, unit_bytes
from pulsar_backlog.schemas.values import TopicSchemas
from pulsar_backlog.spark.stream_files import link_files_for_streams

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
_DECODED = frozenset({"value", "key", "decode_error"})
SMALL_TOPIC_BYTES = 64 * 1024 * 1024
"""Topics of up to so many bytes together are one partition, which meets their chunks on the way."""
MAX_PARTITION_BYTES = 256 * 1024 * 1024
"""Bytes of units in one partition at most: a query with LIMIT reads whole partitions, few at first."""


def register(spark: SparkSession) -> None:
    """Let a session read the format `pulsar-backlog`, and push filters down to it."""
    spark.conf.set(PUSHDOWN, "true")  # a source that can take filters is refused where it is off
    link_files_for_streams(spark)
    spark.dataSource.register(_source_for(spark))


@dataclass(frozen=True)
class UnitPartition(InputPartition):
    """Rows of a scan unit, or of several small ones, without the chunked messages that other units have parts of."""

    units: tuple[ScanUnit, ...]


@dataclass(frozen=True)
class TopicPart:
    """Messages of one topic that are chunked, each once and whole; of a small topic also the others."""

    topic: str | None
    copies: tuple[LedgerCopy, ...]
    plain: bool


@dataclass(frozen=True)
class TopicPartition(InputPartition):
    """Messages of one topic, or of several small ones."""

    topics: tuple[TopicPart, ...]


class PulsarBacklogSource(DataSource):
    """The data source; its options are explained in docs/python.md.

    Attributes:
        cores: of the one machine that runs all tasks; None on a cluster, which may get more while it works.
    """

    cores: int | None = None

    @classmethod
    def name(cls) -> str:
        """As `format` takes it."""
        return "pulsar-backlog"

    def schema(self) -> StructType:
        """All columns of the kind of rows that is asked for."""
        options = SparkOptions.of(self.options)
        return _spark_schema(options, _schemas(options))

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns in `schema`."""
        return BacklogReader(SparkOptions.of(self.options), schema, self.cores)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """A reader of micro-batches with the columns in `schema`."""
        reader = BacklogReader(SparkOptions.of(self.options), schema)
        return BacklogStreamReader(reader.options, reader.columns)


class BacklogReader(DataSourceReader):
    """Plans partitions where the query is planned, and reads them where Spark likes."""

    def __init__(self, options: SparkOptions, schema: StructType, cores: int | None = None) -> None:
        schemas = _schemas(options)
        check_masks(options.reading.masks, _columns(options, schemas))
        self.columns = _checked(schema, _spark_schema(options, schemas))
        if options.mode == "permissive" and not _DECODED.intersection(self.columns):
            schemas = None  # nobody asked for what would be decoded
        self.options = replace(options, reading=replace(options.reading, schemas=schemas, columns=tuple(self.columns)))
        self._wanted: Wanted = options.wanted
        self._cores = cores

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:  # noqa: N802 - Spark's name
        """Leave out what filters rule out; Spark looks at all of them once more."""
        masked = {mask.path[0] for mask in self.options.reading.masks}
        self._wanted = narrowed(self._wanted, filters, masked)
        return filters

    def partitions(self) -> list[InputPartition]:
        """Scan units, some of them together, and one for the chunked messages of each topic that is not small."""
        backlog = Backlog(self.options.source)
        copies = backlog.copies_for(self._wanted)
        topics = [(topic, tuple(own)) for topic, own in groupby(copies, key=lambda copy: copy.topic)]
        units = [[unit for copy in own for unit in self._wanted.units(copy)] for _, own in topics]
        sizes = [sum(map(unit_bytes, some)) for some in units]
        most_bytes = self._partition_bytes(sum(sizes))
        if self.options.rows == "entries":
            return list(_packed(chain.from_iterable(units), most_bytes))
        partitions: list[InputPartition] = []
        small: list[TopicPart] = []
        small_bytes = 0
        for (topic, own), some, size in zip(topics, units, sizes, strict=True):
            if size > SMALL_TOPIC_BYTES and self.options.reading.visible != "compacted":
                partitions += _packed(some, most_bytes)
                if topic is not None and self.options.chunked:
                    partitions.append(TopicPartition((TopicPart(topic, own, False),)))
                continue
            if small and small_bytes + size > SMALL_TOPIC_BYTES:
                partitions.append(TopicPartition(tuple(small)))
                small, small_bytes = [], 0
            small.append(TopicPart(topic, own, True))
            small_bytes += size
        return [*partitions, TopicPartition(tuple(small))] if small else partitions

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Rows of a partition."""
        for batch in self._rows(partition):
            if batch.num_rows:
                yield spark_batch(batch, self.columns)

    def _partition_bytes(self, total_bytes: int) -> int:
        return UNIT_BYTES if self._cores is None else pack_bytes(total_bytes, self._cores, MAX_PARTITION_BYTES)

    def _rows(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        options = self.options
        backlog = Backlog(options.source)
        if isinstance(partition, UnitPartition) and options.rows == "entries":
            for unit in partition.units:
                yield from backlog.unit_entries(unit, self._wanted, options.mode)
        elif isinstance(partition, UnitPartition):
            for unit in partition.units:
                yield from backlog.unit_messages(unit, self._wanted, options.reading)
        elif isinstance(partition, TopicPartition):
            for one in partition.topics:
                yield from backlog.topic_messages(one.topic, one.copies, self._wanted, options.reading, plain=one.plain)


def _source_for(spark: SparkSession) -> type[PulsarBacklogSource]:
    """The source for the tasks of a session: Spark plans it in a process that cannot ask for the cores there are."""
    context = getattr(spark, "_sc", None)  # Spark Connect has none
    if context is None or not (context.master == "local" or context.master.startswith("local[")):
        return PulsarBacklogSource
    parallelism: int = context.defaultParallelism

    class OnThisMachine(PulsarBacklogSource):
        cores = parallelism

    return OnThisMachine


def _packed(units: Iterable[ScanUnit], most_bytes: int) -> Iterator[UnitPartition]:
    for group in groups_of(units, most_bytes=most_bytes, bytes_of=unit_bytes):
        yield UnitPartition(tuple(group))


def _schemas(options: SparkOptions) -> TopicSchemas | None:
    if not options.decode:
        return None
    backlog = Backlog(options.source)
    return backlog.schemas_of(backlog.copies_for(options.wanted, whole=True), options.decode)


def _columns(options: SparkOptions, schemas: TopicSchemas | None) -> pa.Schema:
    if options.rows == "entries":
        return entry_reader.SCHEMA
    hidden = () if options.payload == "inline" else ("payload", "payload_file")
    return pa.schema([field for field in message_schema(schemas) if field.name not in hidden])


def _spark_schema(options: SparkOptions, schemas: TopicSchemas | None) -> StructType:
    """Columns of entries as the table promises them: Spark looks twice in each row whether one that may be is null.

    Those of messages are all nullable: a mask may leave nothing.
    """
    columns = _columns(options, schemas)
    if options.rows == "entries":
        return from_arrow_schema(columns)
    return from_arrow_schema(pa.schema([field.with_nullable(True) for field in columns]))


def _checked(schema: StructType, full: StructType) -> dict[str, bool]:
    """Names of the columns wanted, each with whether its batches say that it is nullable.

    Raises:
        UsageError: one is not there, or of another type.
    """
    there = {field.name: field for field in full.fields}
    for field in schema.fields:
        kind, own = field.dataType.simpleString(), there.get(field.name)
        if own is None or own.dataType.simpleString() != kind:
            words = (
                f"is {own.dataType.simpleString()}, not {kind}"
                if own
                else f"is not there; there are {', '.join(there)}"
            )
            raise UsageError(f"column {field.name} {words}")
    return {field.name: field.nullable or there[field.name].nullable for field in schema.fields}
