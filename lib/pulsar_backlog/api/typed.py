"""Columns that payloads become where `decode` is asked for."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pulsar_backlog.api.message_reader import SCHEMA
from pulsar_backlog.schemas.decoder import MessageDecoder
from pulsar_backlog.schemas.values import TopicSchemas


def message_schema(schemas: TopicSchemas | None) -> pa.Schema:
    """Columns of messages: those of the table, and those that payloads become."""
    return SCHEMA if schemas is None else pa.schema([*SCHEMA, *MessageDecoder(schemas).fields])


def typed(batches: Iterator[pa.RecordBatch], decoder: MessageDecoder) -> Iterator[pa.RecordBatch]:
    """Rows of `messages` with the columns that a decoder makes."""
    for batch in batches:
        schema = pa.schema([*batch.schema, *decoder.fields])
        yield pa.RecordBatch.from_arrays([*batch.columns, *decoder.columns(batch)], schema=schema)
