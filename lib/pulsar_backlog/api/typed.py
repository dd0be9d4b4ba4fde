"""Columns that payloads become where `decode` is asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa

from pulsar_backlog.api.message_reader import SCHEMA
from pulsar_backlog.schemas.decoder import MessageDecoder
from pulsar_backlog.schemas.values import TopicSchemas
from pulsar_backlog.wire.byte_views import VIEW


def message_schema(schemas: TopicSchemas | None) -> pa.Schema:
    """Columns of messages: those of the table, and those that payloads become."""
    return SCHEMA if schemas is None else pa.schema([*SCHEMA, *MessageDecoder(schemas).fields])


def row_decoder(schemas: TopicSchemas | None) -> Callable[[pa.RecordBatch], pa.RecordBatch] | None:
    """What adds the columns that payloads become to rows of `messages`; None where they are not decoded.

    Payloads that are views are not among the columns afterwards: nobody asked for them.
    """
    return None if schemas is None else partial(_decoded, MessageDecoder(schemas))


def _decoded(decoder: MessageDecoder, batch: pa.RecordBatch) -> pa.RecordBatch:
    names = [name for name, kind in zip(batch.schema.names, batch.schema.types, strict=True) if kind != VIEW]
    rows = batch.select(names)
    schema = pa.schema([*rows.schema, *decoder.fields])
    return pa.RecordBatch.from_arrays([*rows.columns, *decoder.columns(batch)], schema=schema)
