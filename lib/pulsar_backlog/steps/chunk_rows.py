"""Chunk entries as queries: what the fold and the consumer models read of each."""

from __future__ import annotations

from pulsar_backlog.chunks.rows import ENCRYPTION_TAG_BYTES
from pulsar_backlog.frames.chunks.rows import IS_CHUNK
from pulsar_backlog.frames.clients.rows import CODECS, PACKED_COLUMNS, UNKNOWN_CODEC, packed_facts
from pulsar_backlog.sql.duck_values import portable_literal
from pulsar_backlog.sql.engines import QueryEngine
from pulsar_backlog.sql.task_rows import TaskRows
from pulsar_backlog.steps.finding_rows import listed
from pulsar_backlog.terms import COMPLETE
from pulsar_backlog.wire.metadata import COMPRESSIONS

POSITION = ("ledger_id", "entry_id")
CHUNK_ENTRIES = "chunk_entries"


def name_chunk_entries(engine: QueryEngine) -> None:
    """Let `chunk_entries` name the chunk entries of `noted_entries`."""
    engine.create_view(CHUNK_ENTRIES, engine.sql("chunks", "chunk_entries", {"is_chunk": IS_CHUNK}))


def fold_rows(engine: QueryEngine) -> TaskRows:
    """What the fold gets: chunk entries of `chunk_entries`, with the ends of `producers`."""
    return TaskRows(engine.sql("chunks", "fold_rows", {}), ("topic", "chunk_uuid"), POSITION, CHUNK_ENTRIES)


def payload_bytes() -> str:
    """SQL: how many bytes of payloads the fold may read, to see whether they decompress."""
    return (
        "SELECT CAST(coalesce(sum(payload_length), 0) AS bigint) AS bytes FROM chunk_entries "  # noqa: S608 - own words
        f"WHERE compression IS NOT NULL AND compression <> {portable_literal(COMPRESSIONS[0])} AND NOT is_encrypted"
    )


def model_rows(engine: QueryEngine) -> str:
    """SQL: rows of `MODEL_COLUMNS`, from `chunk_entries` and `chunked_messages`."""
    values: dict[str, int | str] = {
        "tag": ENCRYPTION_TAG_BYTES,
        "codecs": listed(CODECS),
        "plain": portable_literal(COMPRESSIONS[0]),
        "unknown": portable_literal(UNKNOWN_CODEC),
        "complete": listed(COMPLETE),
    }
    return engine.sql("clients", "model_rows", values)


def packed_model_rows(engine: QueryEngine) -> TaskRows:
    """What the models get: the same, columns of few values packed into one, whole topics in position order."""
    columns = f"{', '.join(PACKED_COLUMNS)}, CAST({packed_facts()} AS bigint) AS facts"
    query = f"SELECT {columns} FROM (\n{model_rows(engine)}\n) AS model_rows"  # noqa: S608 - own words
    return TaskRows(query, ("topic",), POSITION, CHUNK_ENTRIES)
