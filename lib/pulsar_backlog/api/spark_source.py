"""`spark.read.format("pulsar-backlog")`: messages and entries of topics as Spark rows; partitions are scan units.

Nothing of ours lies on executors but the package. What a filter or a schema rules out is not read or not given out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
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
from pulsar_backlog.ledgers.values import LedgerCopy, ScanUnit
from pulsar_backlog.messages.masking import check_masks
from pulsar_backlog.schemas.values import TopicSchemas
from pulsar_backlog.spark.stream_files import link_files_for_streams

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
_DECODED = frozenset({"value", "key", "decode_error"})
SMALL_TOPIC_BYTES = 64 * 1024 * 1024
"""Topics of up to so many bytes together are one partition, which meets their chunks on the way."""


def register(spark: SparkSession) -> None:
    """Let a session read the format `pulsar-backlog`, and push filters down to it."""
    spark.conf.set(PUSHDOWN, "true")  # a source that can take filters is refused where it is off
    link_files_for_streams(spark)
    spark.dataSource.register(PulsarBacklogSource)


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
    """The data source; its options are explained in docs/python.md."""

    @classmethod
    def name(cls) -> str:
        """As `format` takes it."""
        return "pulsar-backlog"

    def schema(self) -> StructType:
        """All columns of the kind of rows that is asked for."""
        options = SparkOptions.of(self.options)
        return _without_promises(_columns(options, _schemas(options)))

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns in `schema`."""
        return BacklogReader(SparkOptions.of(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """A reader of micro-batches with the columns in `schema`."""
        reader = BacklogReader(SparkOptions.of(self.options), schema)
        return BacklogStreamReader(reader.options, reader.names)


class BacklogReader(DataSourceReader):
    """Plans partitions where the query is planned, and reads them where Spark likes."""

    def __init__(self, options: SparkOptions, schema: StructType) -> None:
        schemas = _schemas(options)
        check_masks(options.reading.masks, _columns(options, schemas))
        self.names = _checked(schema, _without_promises(_columns(options, schemas)))
        if options.mode == "permissive" and not _DECODED.intersection(self.names):
            schemas = None  # nobody asked for what would be decoded
        self.options = replace(options, reading=replace(options.reading, schemas=schemas, columns=tuple(self.names)))
        self._wanted: Wanted = options.wanted

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:  # noqa: N802 - Spark's name
        """Leave out what filters rule out; Spark looks at all of them once more."""
        masked = {mask.path[0] for mask in self.options.reading.masks}
        self._wanted = narrowed(self._wanted, filters, masked)
        return filters

    def partitions(self) -> list[InputPartition]:
        """One for each scan unit, and one for the chunked messages of each topic that is not small."""
        backlog = Backlog(self.options.source)
        copies = backlog.copies_for(self._wanted)
        if self.options.rows == "entries":
            return list(_packed(unit for copy in copies for unit in self._wanted.units(copy)))
        partitions: list[InputPartition] = []
        small: list[TopicPart] = []
        small_bytes = 0
        for topic, grouped in groupby(copies, key=lambda copy: copy.topic):
            own = tuple(grouped)
            units = [unit for copy in own for unit in self._wanted.units(copy)]
            size = sum(map(_bytes, units))
            if size > SMALL_TOPIC_BYTES and self.options.reading.visible != "compacted":
                partitions += _packed(units)
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
                yield spark_batch(batch, self.names)

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


def _packed(units: Iterable[ScanUnit]) -> Iterator[UnitPartition]:
    for group in groups_of(units, most_bytes=SMALL_TOPIC_BYTES, bytes_of=_bytes):
        yield UnitPartition(tuple(group))


def _bytes(unit: ScanUnit) -> int:
    return sum(block.length for block in unit.blocks)


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


def _without_promises(schema: pa.Schema) -> StructType:
    """Spark's schema, every column nullable: who reads with a schema of their own says nothing of that."""
    return from_arrow_schema(pa.schema([field.with_nullable(True) for field in schema]))


def _checked(schema: StructType, full: StructType) -> list[str]:
    """Names of the columns wanted.

    Raises:
        UsageError: one is not there, or of another type.
    """
    types: Mapping[str, str] = {field.name: field.dataType.simpleString() for field in full.fields}
    for field in schema.fields:
        kind = field.dataType.simpleString()
        if types.get(field.name) != kind:
            there = types.get(field.name)
            words = f"is {there}, not {kind}" if there else f"is not there; there are {', '.join(types)}"
            raise UsageError(f"column {field.name} {words}")
    return [field.name for field in schema.fields]
