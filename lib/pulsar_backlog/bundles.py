"""A finding with what it stands on, in one zip for a ticket; an entry of such a zip, explained without the source."""

from __future__ import annotations

import hashlib
import io
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pulsar_backlog.errors import DecodeError, SourceError, UsageError
from pulsar_backlog.explain import MAX_SHOWN_BYTES, metadata_values, notes_on, spans_of
from pulsar_backlog.findings import CATALOGUE
from pulsar_backlog.json_text import to_json
from pulsar_backlog.ledgers.entry_batch import Place
from pulsar_backlog.ledgers.live.service import Live
from pulsar_backlog.ledgers.places import BlockOpener
from pulsar_backlog.ledgers.store import Source, open_source
from pulsar_backlog.output.bundle_file import (
    MAX_MEMBER_BYTES,
    VERSION,
    BundleWriter,
    entry_name,
    new_bundle,
    open_bundle,
)
from pulsar_backlog.report.places import FRONT
from pulsar_backlog.report.terminal.explain import SECRET_FIELDS, ExplainModel, NamedValue
from pulsar_backlog.sql.bundle_rows import FindingRows
from pulsar_backlog.tableio.beside import beside
from pulsar_backlog.terms import position_of, position_text
from pulsar_backlog.versions import version_lines
from pulsar_backlog.wire.entry import Layout, decode_entry, read_layout
from pulsar_backlog.wire.fields import FieldSpan, walk_fields
from pulsar_backlog.wire.proto import pulsar_messages_pb2 as pb

README = """pulsar-backlog: {code} {name} of {topic}

{meaning}
{cause}
{remedy}

manifest.json says which command made this, with which versions, and which bytes are whose. rows/ holds rows of the
audit's tables, entries/ the bytes of entries{redaction}. report.html is the front page of its report.

Check the files:      sha256sum -c SHA256SUMS
Look at an entry:     pulsar-backlog explain THIS.zip LEDGER:ENTRY
"""
_REDACTED = ", without payloads, keys and property values"


@dataclass(frozen=True)
class Made:
    """What a bundle holds.

    Attributes:
        entries: positions whose bytes are in it.
        rows: rows by table.
        left_out: a sentence for each thing that should be in it and is not.
    """

    entries: list[str]
    rows: dict[str, int]
    left_out: list[str]


@dataclass(frozen=True)
class Request:
    """What is asked for.

    Attributes:
        to: the new file.
        out: of the audit.
        code: of the finding.
        command: that was typed.
        made_at: now.
        endpoint: of source and results.
        source: where the ledgers are now; None for where the audit read them.
        live: the cluster, of entries that were read live.
        show_values: whether payloads, keys and property values are in it.
    """

    to: Path
    out: str
    code: str
    command: str
    made_at: datetime
    endpoint: str | None = None
    source: str | None = None
    live: Live | None = None
    show_values: bool = False


def make_bundle(request: Request, rows: FindingRows) -> Made:
    """Write a bundle of the rows that concern a finding.

    Raises:
        UsageError: it cannot be written there, or the source is no address.
    """
    kind = CATALOGUE[request.code]
    words = {name: getattr(kind, name) for name in ("code", "name", "severity", "meaning", "cause", "remedy")}
    made = Made([], {name: one.num_rows for name, one in rows.tables.items()}, [])
    entries: list[dict[str, Any]] = []
    manifest = {
        "bundle_version": VERSION, "command": request.command, "made_at": request.made_at.isoformat(timespec="seconds"),
        "versions": list(version_lines()), "cluster": rows.cluster, "topic": rows.topic, "source": rows.source,
        "redacted": not request.show_values, "finding": words, "entries": entries, "left_out": made.left_out,
    }  # fmt: skip
    with new_bundle(request.to, manifest) as bundle:
        redaction = "" if request.show_values else _REDACTED
        text = README.format(**words, topic=rows.topic or "the source", redaction=redaction)
        bundle.add("README.txt", text.encode("ascii", "backslashreplace"))
        for table, of_table in rows.tables.items():
            _add(bundle, f"rows/{table}.json", _json(of_table), made)
            _add(bundle, f"rows/{table}.parquet", _parquet(of_table), made)
        for about, data in _entries(request, rows, made):
            if _add(bundle, entry_name(about["position"]), data, made):
                entries.append(about)
                made.entries.append(about["position"])
        report = _report(request, made)
        if report is not None:
            _add(bundle, FRONT, report, made)
        if rows.left_off:
            made.left_out.append(f"{rows.left_off:,} more entries: raise --limit, or name some with --entry")
    return made


def _add(bundle: BundleWriter, name: str, data: bytes, made: Made) -> bool:
    if not bundle.fits(len(data)):
        made.left_out.append(f"{name} would make the bundle too large ({len(data):,} bytes)")
        return False
    bundle.add(name, data)
    return True


def _entries(request: Request, rows: FindingRows, made: Made) -> Iterator[tuple[dict[str, Any], bytes]]:
    """What the manifest says of each entry, and its bytes, as far as they are still what the audit read."""
    places = {(row["ledger_id"], row["entry_id"]): row for row in _plain(rows.tables["entries"])}
    where = request.source or rows.source
    source = None if where is None else open_source(where, request.endpoint, live=request.live)
    for position in map(position_text, rows.positions):
        row = places.get(position_of(position))
        if row is None or source is None:
            made.left_out.append(f"entry {position} was not decoded or not read, so its bytes are not here")
            continue
        try:
            yield _entry(source, row, position, show_values=request.show_values)
        except (SourceError, DecodeError, ValueError) as error:
            made.left_out.append(f"entry {position} cannot be read as the audit read it: {error}")


def _entry(source: Source, row: Mapping[str, Any], position: str, *, show_values: bool) -> tuple[dict[str, Any], bytes]:
    if row["length"] > MAX_MEMBER_BYTES:
        raise ValueError(f"it has {row['length']:,} bytes, too many for a bundle")
    place = Place(row["uri"], row["offset"], row["length"], row["inner_offset"], row["block_length"])
    data = BlockOpener(source).read(place).tobytes()
    layout = read_layout(data)
    if len(data) != row["length"] or layout.checksum != row["checksum"]:
        raise ValueError("its length or checksum is another one now")
    shown, masked = (data, []) if show_values else redacted(data, layout)
    about = {
        "position": position, "topic": row["topic"], "uri": row["uri"], "offset": row["offset"],
        "inner_offset": row["inner_offset"], "block_length": row["block_length"], "length": len(data),
        "sha256": hashlib.sha256(data).hexdigest(), "payload_offset": layout.payload_offset,
        "payload_length": layout.payload_length, "checksum": layout.checksum, "checksum_state": row["checksum_state"],
        "payload_sha256": hashlib.sha256(data[layout.payload_offset :]).hexdigest(), "masked": masked,
    }  # fmt: skip
    return about, shown


def _report(request: Request, made: Made) -> bytes | None:
    try:
        return beside(request.out, request.endpoint).read(FRONT)
    except (SourceError, OSError):
        made.left_out.append(f"the audit has no {FRONT}")
        return None


def redacted(data: bytes, layout: Layout) -> tuple[bytes, list[list[int]]]:
    """An entry without its payload, its keys and property values as zeros; and where these zeros are."""
    parts: list[tuple[Any, int, int]] = [(pb.MessageMetadata.DESCRIPTOR, layout.metadata_offset, layout.payload_offset)]
    if layout.broker_offset is not None and layout.broker_length is not None:
        end = layout.broker_offset + layout.broker_length
        parts.insert(0, (pb.BrokerEntryMetadata.DESCRIPTOR, layout.broker_offset, end))
    head = bytearray(data[: layout.payload_offset])
    masked = []
    for descriptor, start, end in parts:
        for first, after in _secrets(walk_fields(data, descriptor, start=start, end=end), within=False):
            head[first:after] = bytes(after - first)
            masked.append([first, after])
    return bytes(head), masked


def _secrets(fields: tuple[FieldSpan, ...], *, within: bool) -> Iterator[tuple[int, int]]:
    """Where contents lie that hold what people sent; what has no name may."""
    for field in fields:
        is_secret = within or field.name is None or field.name in SECRET_FIELDS
        if field.children:
            yield from _secrets(field.children, within=is_secret)
        elif is_secret and isinstance(field.value, bytes) and field.value:
            yield field.end - len(field.value), field.end


def explain_bundled(path: str, position: str, show_values: bool) -> ExplainModel:
    """Everything that a bundle says of one of its entries.

    Raises:
        UsageError: it is no whole bundle, or does not hold the entry.
    """
    with open_bundle(path) as bundle:
        about, data = bundle.entry(position), bundle.read(entry_name(position))
        if about is None or data is None:
            raise UsageError(
                f"{path} does not hold entry {position}; it holds {', '.join(bundle.positions()) or 'none'}"
            )
        rows = bundle.rows("chunked_messages"), bundle.rows("chunks")
        is_redacted = bundle.manifest.get("redacted") is not False
    try:
        entry, place, checksum = decode_entry(data), _place_of(about), str(about["checksum_state"])
        notes = [f"This is a copy in a bundle, not the source: {Path(path).name}"]
        if is_redacted:
            words = f"{_number(about, 'payload_length'):,} bytes of payload are not in the bundle"
            notes.append(f"{words}, and keys and property values are zeros in it; their digests are in its manifest")
        elif hashlib.sha256(data).hexdigest() != about["sha256"] or entry.checksum_state != checksum:
            raise UsageError(f"{path}: the bytes of entry {position} are not those that its manifest tells of")
    except (DecodeError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: entry {position} in it cannot be taken apart ({type(error).__name__})") from error
    return ExplainModel(
        position, str(about.get("topic")), place, data[:MAX_SHOWN_BYTES], place.length, spans_of(data, entry.layout),
        _CHECKSUM_WORDS.get(checksum, f"its checksum was {checksum}"), metadata_values(entry.metadata),
        _publication(position, *rows), (*notes, *notes_on(entry)), show_values and not is_redacted,
    )  # fmt: skip


def _place_of(about: Mapping[str, Any]) -> Place:
    is_inner = about["inner_offset"] is not None
    inner = [_number(about, name) if is_inner else None for name in ("inner_offset", "block_length")]
    return Place(str(about["uri"]), _number(about, "offset"), _number(about, "length"), *inner)


def _number(about: Mapping[str, Any], name: str) -> int:
    if not isinstance(about[name], int):
        raise TypeError(name)
    return int(about[name])


_CHECKSUM_WORDS = {
    "valid": "its checksum matched when the bundle was made",
    "mismatch": "ITS CHECKSUM DID NOT MATCH when the bundle was made: trust no field",
    "absent": "it was stored without a checksum: nobody could notice damage",
}
_FACTS = ("topic", "chunk_uuid", "state", "flags", "rebuildable", "copies", "sureness", "reason")


def _publication(
    position: str, messages: list[dict[str, Any]], chunks: list[dict[str, Any]]
) -> tuple[NamedValue, ...] | None:
    """What the audit said of the chunked message that the entry belongs to."""
    mine = next((one for one in chunks if f"{one.get('ledger_id')}:{one.get('entry_id')}" == position), None)
    key = None if mine is None else (mine.get("chunk_uuid"), mine.get("publish_time_ms"))
    message = next((one for one in messages if (one.get("chunk_uuid"), one.get("publish_time_ms")) == key), None)
    if mine is None or message is None:
        return None
    facts = {name: message.get(name) for name in _FACTS if name in message} | {"role of this entry": mine.get("role")}
    return tuple(NamedValue(name.replace("_", " "), str(value)) for name, value in facts.items())


def _plain(rows: pa.Table) -> list[dict[str, Any]]:
    return list(rows.to_pylist(maps_as_pydicts="strict"))


def _json(rows: pa.Table) -> bytes:
    return (to_json(_plain(rows), indent=1, default=_json_value) + "\n").encode()


def _json_value(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else b64encode(bytes(value)).decode()  # type: ignore[call-overload]


def _parquet(rows: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(rows, sink, compression="zstd")
    return sink.getvalue()
