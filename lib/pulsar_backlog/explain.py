"""One stored entry, found and taken apart for `pulsar-backlog explain`. No Spark: a few ranged reads."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator
from dataclasses import fields

from pulsar_backlog.chunks.fold import fold_family
from pulsar_backlog.chunks.rows import ChunkRow, LogEdge
from pulsar_backlog.errors import DecodeError, SourceError, UsageError
from pulsar_backlog.ledgers.entry_batch import EntryBatch, Place
from pulsar_backlog.ledgers.first_look import look_at
from pulsar_backlog.ledgers.inventory import ClusterRecords, settle
from pulsar_backlog.ledgers.kinds import walk_unit
from pulsar_backlog.ledgers.listing import Listing, take_listing
from pulsar_backlog.ledgers.live.service import Live
from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.ledgers.store import Source, open_source
from pulsar_backlog.ledgers.survey import survey
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.ledgers.values import LedgerCopy, ScanUnit
from pulsar_backlog.messages.chunk_entries import chunk_row
from pulsar_backlog.report.terminal.explain import SECRET_FIELDS, ExplainModel, NamedValue, Span
from pulsar_backlog.wire.entry import Entry, Layout, decode_entry, is_chunk, read_layout
from pulsar_backlog.wire.fields import FieldSpan, walk_fields
from pulsar_backlog.wire.markers import is_marker, marker_kind
from pulsar_backlog.wire.metadata import END_OF_TIME_MS, FLAGS, MessageMetadata
from pulsar_backlog.wire.proto import pulsar_messages_pb2 as pb
from pulsar_backlog.wire.rejects import REJECT_CODES

MAX_SHOWN_BYTES = 64 * 1024
"""Bytes of an entry that are shown at most; what matters lies at its beginning."""

NEIGHBOURHOOD = 50
"""Ledgers before and after, by id, among which the topic's own are looked for: a bucket holds many topics."""

_NOT_SENT = frozenset(code for code in REJECT_CODES if code.startswith("live_"))
"""Why a live broker does not show an entry."""

_CHECKSUMS = {
    "valid": "its checksum matches: metadata and payload are as sent",
    "mismatch": "ITS CHECKSUM DOES NOT MATCH: the stored bytes are not what the producer sent; trust no field",
    "absent": "it was stored without a checksum: nobody could notice damage",
}


def explain_entry(
    source: str, endpoint: str | None, position: str, show_values: bool, live: Live | None = None
) -> ExplainModel:
    """Everything that can be said of one entry from the stored bytes.

    Raises:
        UsageError: the position cannot be read, or no such ledger or entry is stored.
        SourceError: the object cannot be read.
    """
    match = re.fullmatch(r"(\d+):(\d+)", position)
    if match is None:
        raise UsageError(f"{position!r} is not a position: write LEDGER:ENTRY, such as 22:3")
    ledger_id, entry_id = int(match[1]), int(match[2])
    opened = open_source(source, endpoint, live=live)
    look_at(opened, Scope())  # a store that does not answer, or holds no ledger at all, is no missing ledger
    listing = take_listing(opened)
    copy = _copy_of(opened, listing, ledger_id)
    data, place = _entry_of(opened, copy, entry_id)
    try:
        entry = decode_entry(data)
    except DecodeError as error:
        return _undecodable(copy, position, data, place, error, show_values)
    publication = _publication(opened, listing, copy, entry) if is_chunk(entry.metadata) else None
    return ExplainModel(
        position, copy.topic, place, data[:MAX_SHOWN_BYTES], len(data),
        spans_of(data, entry.layout), _CHECKSUMS[entry.checksum_state], metadata_values(entry.metadata),
        publication, notes_on(entry), show_values,
    )  # fmt: skip


def _copy_of(source: Source, listing: Listing, ledger_id: int) -> LedgerCopy:
    copies = _selected(source, listing, {ledger_id})
    if not copies and listing.unreadable:
        hidden = listing.unreadable[0]
        words = (
            f"ledger {ledger_id} is in no part of the source that could be listed; this part could not be ({hidden})"
        )
        raise SourceError(hidden.uri, hidden.reason, words)
    if not copies or copies[0].data_uri is None:
        raise UsageError(f"ledger {ledger_id} is not stored in the source, or nothing of it can be read")
    return copies[0]


def _entry_of(source: Source, copy: LedgerCopy, entry_id: int) -> tuple[bytes, Place]:
    """The entry's bytes, and where they lie. The unit that should hold it is looked at first."""
    last = -1
    units = sorted(units_of(copy), key=lambda unit: (_first_id(unit) > entry_id, -_first_id(unit)))
    for batch in (batch for unit in units for batch in walk_unit(source, unit)):
        if hidden := next((one for one in batch.faults if one.entry_id == entry_id and one.code in _NOT_SENT), None):
            words = f"{hidden.found}; {REJECT_CODES[hidden.code]}"
            raise UsageError(f"entry {entry_id} of ledger {copy.ledger_id} cannot be shown: {words}")
        at = batch.entry_id.searchsorted(entry_id)
        if at < len(batch.entry_id) and batch.entry_id[at] == entry_id:
            return _bytes(batch, int(at)), batch.place(copy.data_uri or "", int(at))
        last = max(last, int(batch.entry_id[-1]) if len(batch.entry_id) else -1)
    raise UsageError(f"ledger {copy.ledger_id} holds no readable entry {entry_id}; the last one it holds is {last}")


def _first_id(unit: ScanUnit) -> int:
    return unit.blocks[0].first_entry_id


def _batches(source: Source, copy: LedgerCopy) -> Iterator[EntryBatch]:
    for unit in units_of(copy):
        yield from walk_unit(source, unit)


def _bytes(batch: EntryBatch, at: int) -> bytes:
    return batch.buffer[batch.offset[at] : batch.offset[at] + batch.length[at]].tobytes()


def _undecodable(
    copy: LedgerCopy, position: str, data: bytes, place: Place, error: DecodeError, show_values: bool
) -> ExplainModel:
    words = f"it cannot be decoded: {error.code} at byte {error.offset} ({error.field})"
    note = f"{REJECT_CODES[error.code]} Expected {error.expected}, found {error.found}."
    return ExplainModel(
        position, copy.topic, place, data[:MAX_SHOWN_BYTES], len(data), (), words, (), None,
        (note,), show_values,
    )  # fmt: skip


def spans_of(data: bytes, layout: Layout) -> tuple[Span, ...]:
    """The parts of an entry, see `ExplainModel.spans`."""
    return tuple(_spans(data, layout))


def metadata_values(metadata: MessageMetadata) -> tuple[NamedValue, ...]:
    """The fields that its metadata has."""
    return tuple(_named(metadata))


def notes_on(entry: Entry) -> tuple[str, ...]:
    """What is odd about an entry, a sentence each."""
    return tuple(_notes(entry))


def _spans(data: bytes, layout: Layout) -> Iterator[Span]:
    """The parts of the entry in the order of the bytes, with the fields within them."""
    if layout.broker_offset is not None and layout.broker_length is not None:
        start, end = layout.broker_offset, layout.broker_offset + layout.broker_length
        yield Span(start - 6, end, "broker metadata", "", 0, False)
        yield Span(start - 6, start - 4, "magic", "0E02", 1, False)
        yield Span(start - 4, start, "size", str(layout.broker_length), 1, False)
        yield from _field_spans(data, pb.BrokerEntryMetadata.DESCRIPTOR, start, end)
    if layout.checksum_offset is not None and layout.checksum is not None:
        yield Span(layout.checksum_offset - 2, layout.checksum_offset, "magic", "0E01", 0, False)
        yield Span(layout.checksum_offset, layout.checksum_offset + 4, "checksum", f"{layout.checksum:08x}", 0, False)
    start = layout.metadata_offset
    yield Span(start - 4, layout.payload_offset, "metadata", "", 0, False)
    yield Span(start - 4, start, "size", str(layout.metadata_length), 1, False)
    yield from _field_spans(data, pb.MessageMetadata.DESCRIPTOR, start, layout.payload_offset)
    if layout.payload_length:
        yield Span(layout.payload_offset, len(data), "payload", f"{layout.payload_length} bytes", 0, True)


def _field_spans(data: bytes, descriptor: object, start: int, end: int) -> Iterator[Span]:
    for field in walk_fields(data, descriptor, start=start, end=end):  # type: ignore[arg-type]
        yield from _span(field, 1)


def _span(field: FieldSpan, depth: int) -> Iterator[Span]:
    name = field.name or f"unknown field {field.number}"
    value = field.value.decode(errors="replace") if isinstance(field.value, bytes) else field.value
    text = "" if field.children or value is None else str(value)
    yield Span(field.start, field.end, name, text, depth, name in SECRET_FIELDS)
    for child in field.children:
        yield from _span(child, depth + 1)


def _named(metadata: MessageMetadata) -> Iterator[NamedValue]:
    for field in fields(metadata):
        value = getattr(metadata, field.name)
        if value is None:
            continue
        if field.name == "properties":
            yield from (NamedValue(f"properties.{key}", text, True) for key, text in value.items())
        elif field.name.endswith("_time") and 0 < value < END_OF_TIME_MS:
            yield NamedValue(field.name, f"{value} ms")
        else:
            yield NamedValue(field.name, str(value), field.name in SECRET_FIELDS)


def _notes(entry: Entry) -> Iterator[str]:
    for flag in entry.flags:
        yield FLAGS[flag]
    marker = entry.metadata.marker_type
    if is_marker(marker) and marker is not None:
        yield f"A server-internal marker, not a message: {marker_kind(marker).description}"


def _publication(source: Source, listing: Listing, copy: LedgerCopy, entry: Entry) -> tuple[NamedValue, ...]:
    """Facts about the chunked message, from this ledger and its neighbours of the same topic."""
    uuid = entry.metadata.uuid or ""
    near = _neighbours(source, listing, copy)
    rows = [row for ledger in near for row in _chunk_rows(source, ledger, uuid)]
    producer = entry.metadata.producer_name
    last = next((at for ledger in reversed(near) if (at := _last_of(source, ledger, producer))), (copy.ledger_id, -1))
    edge = LogEdge(None, 0, {producer: last}, frozenset(), None, False, (), False, False, False)
    publications = fold_family(rows, edge).publications
    mine = next(p for p in publications if p.publish_time_ms == entry.metadata.publish_time)
    missing = ", ".join(str(chunk) for chunk in mine.missing_chunk_ids[:20]) or "none"
    facts = {
        "uuid": uuid,
        "chunk": f"{entry.metadata.chunk_id} (from 0) of {mine.num_chunks}",
        "state in these ledgers": mine.state.replace("_", " "),
        "flags": ", ".join(mine.flags).replace("_", " ") or "none",
        "rebuildable": "yes" if mine.rebuildable else "no",
        "copies stored": str(mine.copies),
        "missing chunks": missing,
        "from": f"{mine.first_ledger_id}:{mine.first_entry_id}",
        "to": f"{mine.last_ledger_id}:{mine.last_entry_id}",
        "ledgers looked at": ", ".join(sorted({str(row.ledger_id) for row in rows})),
    }
    return tuple(NamedValue(name, value) for name, value in facts.items())


def _neighbours(source: Source, listing: Listing, copy: LedgerCopy) -> list[LedgerCopy]:
    """The copy with the ledgers of its topic before and after it."""
    listed = sorted({pair.ledger_id for pair in listing.pairs})
    here = bisect_left(listed, copy.ledger_id)
    before, after = listed[max(here - NEIGHBOURHOOD, 0) : here], listed[here + 1 : here + NEIGHBOURHOOD + 1]
    same = [c for c in _selected(source, listing, {*before, *after}) if c.topic == copy.topic]
    at = bisect_left(same, copy.ledger_id, key=lambda c: c.ledger_id)
    return [*same[max(at - 1, 0) : at], copy, *same[at : at + 1]]


def _selected(source: Source, listing: Listing, ledgers: Collection[int]) -> list[LedgerCopy]:
    """The copies to read of these ledgers, in order."""
    return [copy for copy in settle(survey(source, listing, ledgers), ClusterRecords({}, {})).copies if copy.selected]


def _chunk_rows(source: Source, copy: LedgerCopy, uuid: str) -> Iterator[ChunkRow]:
    wanted = uuid.encode()
    for batch in _batches(source, copy):
        for at in range(len(batch.entry_id)):
            data = _bytes(batch, at)
            if wanted not in data:
                continue
            try:
                layout = read_layout(data)
                entry = decode_entry(data)
            except DecodeError:
                continue
            if (entry.metadata.uuid or "") == uuid and is_chunk(entry.metadata):
                place = batch.place(copy.data_uri or "", at).after(layout.payload_offset)
                yield chunk_row(entry, copy.ledger_id, int(batch.entry_id[at]), place)


def _last_of(source: Source, copy: LedgerCopy, producer: str) -> tuple[int, int] | None:
    """Position of the producer's last entry in this ledger: whether it went on decides what is still arriving."""
    last = None
    for batch in _batches(source, copy):
        for at in reversed(range(len(batch.entry_id))):
            data = _bytes(batch, at)
            if producer.encode() in data and _producer_of(data) == producer:
                last = (copy.ledger_id, int(batch.entry_id[at]))
                break
    return last


def _producer_of(data: bytes) -> str | None:
    try:
        metadata = decode_entry(data).metadata
    except DecodeError:
        return None
    return None if is_marker(metadata.marker_type) else metadata.producer_name
