"""The chunk fold over batches: chunk rows in topic and uuid order in, publications with their roles out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.chunks.decode import with_decode_result
from pulsar_backlog.chunks.fold import fold_family
from pulsar_backlog.chunks.healthy_families import healthy, healthy_publications, whole_families
from pulsar_backlog.chunks.resends import told_by_child
from pulsar_backlog.chunks.rows import ChunkRow, FamilyFold, LogEdge, Picked, Publication
from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.entry_batch import Place
from pulsar_backlog.ledgers.places import BlockOpener
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.progress import Meter
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema, arrow_type
from pulsar_backlog.tasks.shared import SharedValue
from pulsar_backlog.wire.rows import as_time
from pulsar_backlog.wire.slices import decoded_size_check

_ROLE_TYPE = (
    "struct<ledger_id:bigint,entry_id:bigint,chunk_id:int,role:string,payload_length:int,checksum_state:string>"
)

FOLDED = arrow_schema(TABLES["chunked_messages"]).append(pa.field("roles", arrow_type(f"array<{_ROLE_TYPE}>")))
"""Columns of `chunked_messages`, and the roles of its copies."""

DECODE_LIMIT_BYTES = 128 * 1024 * 1024
"""Output that is followed of a message that claims less."""

SendKey = tuple[str, str, int]
"""Topic, uuid and publish time of one send."""

_chunk_fields = itemgetter(*(field.name for field in fields(ChunkRow)))
_OUT_BATCH = 2048
_ROLE_FIELDS = ("ledger_id", "entry_id", "chunk_id", "role", "payload_length", "checksum_state")
_OF_MESSAGE = ("cluster", "topic", "chunk_uuid", "publish_time", "publish_time_ms")
_NAMED = {"manifest": Picked._fields, "missing_bytes": ("start", "end")}
_PLAIN = tuple(field.name for field in fields(Publication) if field.name not in _NAMED)


@dataclass(frozen=True)
class FoldContext:
    """What every fold task needs besides its rows; sent as a broadcast.

    Attributes:
        cluster: name of the cluster.
        edges: topic -> what is known about the ends of its log (`producer_last` is filled per family).
        source: where the payloads lie.
        meter: is told the bytes of payloads that are read; None where nobody looks.
        resent_in_children: unfinished sends in segments whose message is whole in another segment, and where it is.
    """

    cluster: str
    edges: Mapping[str, LogEdge]
    source: Source
    meter: Meter | None = None
    resent_in_children: Mapping[SendKey, str] = field(default_factory=dict)

    @cached_property
    def opener(self) -> BlockOpener:
        """Reads payloads; made where the first is read, and kept, for messages of one block follow each other."""
        return BlockOpener(self.source)

    def payload(self, place: Place) -> memoryview:
        """What is stored at a place."""
        data = self.opener.read(place).data
        if self.meter is not None:
            self.meter.add(place.length)
        return data


@dataclass(frozen=True)
class FoldTask:
    """What a task does with its chunk entries."""

    context: SharedValue[FoldContext]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Rows of `chunked_messages` and `chunks`, each batch with the name of its table."""
        for folded in fold_batches(batches, self.context.value):
            yield from tables_of(folded)


def fold_batches(batches: Iterable[pa.RecordBatch], context: FoldContext) -> Iterator[pa.RecordBatch]:
    """Publications of sorted chunk rows, as `FOLDED`: healthy families column by column, the others one by one."""
    for families in whole_families(batches):
        mask = healthy(families)
        if mask.any():
            yield healthy_publications(families, mask, context.cluster, FOLDED)
        if not mask.all():
            yield from fold_rows([families.chosen(~mask)], context)


def fold_rows(batches: Iterable[pa.RecordBatch], context: FoldContext) -> Iterator[pa.RecordBatch]:
    """The same by `chunks.fold`, whatever the families look like."""
    rows: list[dict[str, Any]] = []
    for topic, family in _families(batches):
        rows.extend(_publication_rows(topic, family, context))
        if len(rows) >= _OUT_BATCH:
            yield pa.RecordBatch.from_pylist(rows, schema=FOLDED)
            rows = []
    if rows:
        yield pa.RecordBatch.from_pylist(rows, schema=FOLDED)


def tables_of(folded: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Rows of `chunked_messages` and of `chunks` from publications with their roles."""
    yield "chunked_messages", folded.drop_columns(["roles"])
    lists = folded.column("roles")
    roles, of_message = lists.flatten(), pc.list_parent_indices(lists)
    columns = {name: folded.column(name).take(of_message) for name in _OF_MESSAGE}
    columns |= dict(zip(_ROLE_FIELDS, roles.flatten(), strict=True))
    schema = arrow_schema(TABLES["chunks"])
    yield "chunks", pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def _families(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Rows of each topic and uuid together; a family may span batches."""
    rows = (row for batch in batches for row in batch.to_pylist())
    for (topic, _uuid), family in groupby(rows, key=lambda row: (row["topic"], row["chunk_uuid"])):
        yield topic, list(family)


def _publication_rows(topic: str, family: list[dict[str, Any]], context: FoldContext) -> Iterator[dict[str, Any]]:
    ends = {row["producer_name"]: (row["producer_last_ledger_id"], row["producer_last_entry_id"]) for row in family}
    edge = replace(context.edges[topic], producer_last=ends)
    fold: FamilyFold = fold_family([ChunkRow(*_chunk_fields(row)) for row in family], edge)
    roles: dict[int, list[dict[str, Any]]] = {}
    for role in fold.roles:
        # Not asdict: it copies every value deeply, which took two thirds of the fold's time.
        roles.setdefault(role.publish_time_ms, []).append({name: getattr(role, name) for name in _ROLE_FIELDS})
    for publication in fold.publications:
        key = topic, publication.chunk_uuid, publication.publish_time_ms
        checked = told_by_child(check_payload(publication, context), context.resent_in_children.get(key))
        yield _row(checked, topic, context.cluster) | {"roles": roles[publication.publish_time_ms]}


def check_payload(publication: Publication, context: FoldContext) -> Publication:
    """The publication with what decompressing its joined payload showed; reads the stored bytes, keeps none.

    One chunk is held at a time, or a message of up to 8 MiB. Only what can be rebuilt, is compressed and is not
    encrypted is read.
    """
    if publication.decode_state != "not_checked" or not publication.manifest:
        return publication
    places = (
        Place(one.uri, one.offset, one.length, one.inner_offset, one.block_length) for one in publication.manifest
    )
    try:
        check = decoded_size_check(
            publication.compression or "NONE",
            map(context.payload, places),
            publication.uncompressed_bytes or 0,
            sum(one.length for one in publication.manifest),
            DECODE_LIMIT_BYTES,
        )
    except SourceError as error:
        return with_decode_result(publication, "not_checked", f"its bytes could not be read ({error.reason})")
    return with_decode_result(publication, check.state, check.detail, check.actual_bytes)


def _row(publication: Publication, topic: str, cluster: str) -> dict[str, Any]:
    row = {
        name: [dict(zip(keys, values, strict=True)) for values in getattr(publication, name)]
        for name, keys in _NAMED.items()
    }
    plain = {name: getattr(publication, name) for name in _PLAIN}
    return plain | row | {"cluster": cluster, "topic": topic, "publish_time": as_time(publication.publish_time_ms)}
