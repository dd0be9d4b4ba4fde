"""Columns that payloads become where `decode` is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pyarrow as pa

from pulsar_backlog.api.decoding_threads import in_threads
from pulsar_backlog.api.message_reader import SCHEMA
from pulsar_backlog.schemas.decoder import MessageDecoder
from pulsar_backlog.schemas.values import TopicSchemas


def message_schema(schemas: TopicSchemas | None) -> pa.Schema:
    """Columns of messages: those of the table, and those that payloads become."""
    return SCHEMA if schemas is None else pa.schema([*SCHEMA, *MessageDecoder(schemas).fields])


def typed(batches: Iterator[pa.RecordBatch], decoder: MessageDecoder, threads: int) -> Iterator[pa.RecordBatch]:
    """Rows of `messages` with the columns that a decoder makes, by so many threads."""
    return in_threads(partial(_decoded, decoder), batches, threads)


def _decoded(decoder: MessageDecoder, batch: pa.RecordBatch) -> pa.RecordBatch:
    schema = pa.schema([*batch.schema, *decoder.fields])
    return pa.RecordBatch.from_arrays([*batch.columns, *decoder.columns(batch)], schema=schema)
