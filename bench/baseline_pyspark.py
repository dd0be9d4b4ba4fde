"""The same scan the plain PySpark way, to compare with: work units, mapInPandas, one protobuf object per entry.

Written as someone who knows PySpark would write it in an afternoon: one row per data block, a Python function
that reads the block, walks its frames, lets the generated protobuf class parse each entry's metadata, checks each
CRC-32C with a C library, and yields pandas frames. It gives the rows of the `entries` table for sound ledgers;
damage raises. It is no straw man: `ListFields` is asked once per entry instead of `HasField` once per field, and
pandas frames are built by column.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import google_crc32c
import pandas as pd
from pyspark.sql import DataFrame, SparkSession

from pulsar_backlog.tables.entries import TABLE
from pulsar_backlog.wire.proto import ledger_metadata_pb2, pulsar_messages_pb2

ROWS_AT_ONCE = 10_000  # Spark's own default for Arrow batches
COLUMNS = TABLE.column_names()
TIMES = ("broker_timestamp", "publish_time", "event_time", "deliver_at_time")
CODECS = ("NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY")


@dataclass(frozen=True)
class Unit:
    """One data block of one ledger."""

    topic: str
    ledger_id: int
    uri: str
    offset: int
    length: int
    first_entry_id: int


def find_units(folder: Path) -> list[Unit]:
    """Every data block that the index objects in `folder` name."""
    units = []
    for index in sorted(folder.glob("*-index")):
        data = index.read_bytes()
        _, _, data_bytes, _, count, metadata_length = struct.unpack_from(">IiqqiI", data)
        metadata = ledger_metadata_pb2.LedgerMetadata.FromString(data[32 : 32 + metadata_length])
        custom = {item.key: item.value.decode() for item in metadata.custom_metadata}
        tenant, namespace, domain, name = custom[b"pulsar/managed-ledger"].split("/", 3)
        topic = f"{domain}://{tenant}/{namespace}/{unquote_plus(name)}"
        uri = index.name.removesuffix("-index")
        ledger_id = int(re.fullmatch(r".*-ledger-(\d+)", uri)[1])  # type: ignore[index]
        blocks = [struct.unpack_from(">qiq", data, 32 + metadata_length + 20 * i) for i in range(count)]
        ends = [offset for _, _, offset in blocks[1:]] + [data_bytes]
        for (first, _, offset), end in zip(blocks, ends, strict=True):
            units.append(Unit(topic, ledger_id, uri, offset, end - offset, first))
    return units


def scan(spark: SparkSession, folder: Path, cluster: str) -> DataFrame:
    """All entries of the ledgers in `folder`, with the columns of `entries`."""
    rows = [astuple(unit) for unit in find_units(folder)]
    schema = "topic string, ledger_id long, uri string, offset long, length long, first_entry_id long"
    units = spark.createDataFrame(spark.sparkContext.parallelize(rows, len(rows)), schema)  # a task for each

    def read_units(frames: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            for row in frame.itertuples(index=False, name=None):
                yield from read_unit(folder, Unit(*row), cluster)

    return units.mapInPandas(read_units, TABLE.ddl())


def read_unit(folder: Path, unit: Unit, cluster: str) -> Iterator[pd.DataFrame]:
    """The entries of one block."""
    with (folder / unit.uri).open("rb") as file:
        file.seek(unit.offset)
        block = file.read(unit.length)
    rows: list[tuple[Any, ...]] = []
    position = 128
    while position + 12 <= len(block):
        length, entry_id = struct.unpack_from(">iq", block, position)
        if length < 0:
            break
        position += 12
        entry = block[position : position + length]
        rows.append((cluster, unit.topic, unit.ledger_id, entry_id, unit.uri, unit.offset + position, *_row(entry)))
        position += length
        if len(rows) == ROWS_AT_ONCE:
            yield _frame(rows)
            rows = []
    if rows:
        yield _frame(rows)


def _frame(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    columns: dict[str, Any] = {}
    for name, values in zip(COLUMNS, zip(*rows, strict=True), strict=True):
        if name in TIMES:
            columns[name] = pd.to_datetime(pd.Series(values, dtype="Int64"), unit="ms", utc=True)
        else:
            columns[name] = pd.Series(values, dtype=object)  # no column may turn to float where a value is absent
    return pd.DataFrame(columns)


def _row(entry: bytes) -> tuple[Any, ...]:
    """The columns from `length` on."""
    position, broker, checksum, state = 0, None, None, "absent"
    if entry[:2] == b"\x0e\x02":
        size = int.from_bytes(entry[2:6])
        broker = pulsar_messages_pb2.BrokerEntryMetadata()
        broker.ParseFromString(entry[6 : 6 + size])
        position = 6 + size
    if entry[position : position + 2] == b"\x0e\x01":
        checksum = int.from_bytes(entry[position + 2 : position + 6])
        position += 6
        state = "valid" if google_crc32c.value(entry[position:]) == checksum else "mismatch"
    payload_offset = position + 4 + int.from_bytes(entry[position : position + 4])
    message = pulsar_messages_pb2.MessageMetadata()
    message.ParseFromString(entry[position + 4 : payload_offset])
    fields = {field.name: value for field, value in message.ListFields()}
    is_chunk = "uuid" in fields or "chunk_id" in fields or "num_chunks_from_msg" in fields
    return (
        len(entry),
        None,
        None,
        payload_offset,
        len(entry) - payload_offset,
        state,
        checksum,
        google_crc32c.value(entry[payload_offset:]) if is_chunk else None,
        broker is not None,
        broker.broker_timestamp if broker is not None and broker.HasField("broker_timestamp") else None,
        broker.index if broker is not None and broker.HasField("index") else None,
        *_metadata(fields),
        None,
    )


def _metadata(fields: dict[str, Any]) -> tuple[Any, ...]:
    """The columns that come from MessageMetadata; absent is None."""
    get = fields.get
    return (
        fields["producer_name"].decode(),
        _signed(fields["sequence_id"]),
        fields["publish_time"],
        fields["publish_time"],
        _pairs(get("properties")),
        _text(get("replicated_from")),
        _text(get("partition_key")),
        [item.decode() for item in fields["replicate_to"]] if "replicate_to" in fields else None,
        CODECS[fields["compression"]] if "compression" in fields else None,
        get("uncompressed_size"),
        get("num_messages_in_batch"),
        get("event_time") or None,
        _keys(get("encryption_keys")),
        _text(get("encryption_algo")),
        get("encryption_param"),
        get("schema_version"),
        get("partition_key_b64_encoded"),
        get("ordering_key"),
        get("deliver_at_time"),
        get("marker_type"),
        _signed(get("txnid_least_bits")),
        _signed(get("txnid_most_bits")),
        _signed(get("highest_sequence_id")),
        get("null_value"),
        _text(get("uuid")),
        get("num_chunks_from_msg"),
        get("total_chunk_msg_size"),
        get("chunk_id"),
        get("null_partition_key"),
        list(fields["compacted_batch_indexes"]) if "compacted_batch_indexes" in fields else None,
        get("schema_id"),
        get("entry_hash_min"),
        get("entry_hash_max"),
    )


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def _signed(value: int | None) -> int | None:
    return value - (1 << 64) if value is not None and value >> 63 else value


def _pairs(pairs: Any) -> dict[str, str] | None:
    return {pair.key.decode(): pair.value.decode() for pair in pairs} if pairs else None


def _keys(keys: Any) -> list[dict[str, Any]] | None:
    if not keys:
        return None
    return [{"key": k.key.decode(), "value": k.value, "metadata": _pairs(k.metadata)} for k in keys]
