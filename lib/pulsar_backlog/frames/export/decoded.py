"""Rows of an export with typed columns, and masked: Arrow batches in, Arrow batches out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from pulsar_backlog.messages.masking import Mask, masked
from pulsar_backlog.schemas.decoder import MessageDecoder
from pulsar_backlog.schemas.values import TopicSchemas
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.workers import quiet

_MESSAGES = arrow_schema(TABLES["messages"])
_IN_A_FILE = "its payload is too large to be decoded: it is in a file"


@dataclass(frozen=True)
class Shape:
    """What becomes of rows of `messages`.

    Attributes:
        schemas: those that payloads are decoded by; None leaves them.
        masks: what is masked.
        columns: those that are kept, in their order; empty keeps all.
    """

    schemas: TopicSchemas | None = None
    masks: tuple[Mask, ...] = ()
    columns: Sequence[str] = ()

    @property
    def schema(self) -> pa.Schema:
        """Columns of the rows before some are left out."""
        return _MESSAGES if self.schemas is None else pa.schema([*_MESSAGES, *MessageDecoder(self.schemas).fields])


def shaped(messages: DataFrame, shape: Shape) -> DataFrame:
    """Rows of `messages` with typed columns; a payload that was decoded is in them and nowhere else."""
    schema = shape.schema
    if shape.columns:
        schema = pa.schema([schema.field(name) for name in shape.columns])

    def shape_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        decoder = None if shape.schemas is None else MessageDecoder(shape.schemas)
        for batch in batches:
            rows = batch if decoder is None else _decoded(batch, decoder)
            yield masked(rows, shape.masks).select(schema.names)

    nullable = pa.schema([field.with_nullable(True) for field in schema])
    return messages.mapInArrow(quiet(shape_rows), from_arrow_schema(nullable))


def _decoded(batch: pa.RecordBatch, decoder: MessageDecoder) -> pa.RecordBatch:
    made = dict(zip((field.name for field in decoder.fields), decoder.columns(batch), strict=True))
    in_file = pc.and_(pc.is_valid(batch.column("payload_file")), pc.is_null(batch.column("payload")))
    made["decode_error"] = pc.if_else(in_file, _IN_A_FILE, made["decode_error"])
    payload = batch.column("payload")
    undecoded = pc.if_else(pc.is_null(made["decode_error"]), pa.scalar(None, payload.type), payload)
    columns = [undecoded if name == "payload" else batch.column(name) for name in batch.schema.names]
    return pa.RecordBatch.from_arrays([*columns, *made.values()], names=[*batch.schema.names, *made])
