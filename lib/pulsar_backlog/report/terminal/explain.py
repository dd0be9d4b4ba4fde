"""One entry for a person: each field's bytes in hex beside its name and value.

Bytes that no span describes, and everything under a secret span, are withheld unless values were asked for:
what is not known to be harmless is not shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pulsar_backlog.foreign_text import visible
from pulsar_backlog.ledgers.entry_batch import Place

MAX_HEX_BYTES = 64
"""Bytes of one field that are shown in hex."""

MAX_VALUE = 200
MAX_TAG_AND_LENGTH = 10
"""Bytes of the tag and length varints before the content of a field that holds others."""

WIDE_CONSOLE = 100

SECRET_FIELDS = frozenset({"payload", "value", "partition_key", "ordering_key", "encryption_keys", "encryption_param"})
"""Names of fields (the last part of their path) that hold what people sent, or keys: to be marked secret."""


@dataclass(frozen=True)
class Span:
    """Bytes `start` to `end` (exclusive) of the entry, and what they are.

    Attributes:
        value: decoded value as text; empty for a span that only holds others.
        depth: 0 for the outermost; a span of greater depth lies within the nearest earlier one of less.
        secret: whether bytes and value are withheld; then so is all within it.
    """

    start: int
    end: int
    label: str
    value: str
    depth: int
    secret: bool


@dataclass(frozen=True)
class NamedValue:
    """A decoded field or a fact."""

    name: str
    value: str
    secret: bool = False


@dataclass(frozen=True)
class ExplainModel:
    """One stored entry.

    Attributes:
        position: `ledger:entry`.
        place: where the entry lies.
        data: its first bytes, all of them where it is small.
        length: bytes of the entry as stored.
        spans: in the order of the bytes, a span before those within it.
        checksum: verdict on the checksum, one sentence.
        publication: facts about the chunked message it belongs to, or None when it is no chunk.
        notes: oddities, one sentence each.
        show_values: whether secrets were asked for.
        subscriptions: which have it acknowledged; None where no saved state was given.
    """

    position: str
    topic: str | None
    place: Place
    data: bytes
    length: int
    spans: tuple[Span, ...]
    checksum: str
    metadata: tuple[NamedValue, ...]
    publication: tuple[NamedValue, ...] | None
    notes: tuple[str, ...] = ()
    show_values: bool = False
    subscriptions: tuple[NamedValue, ...] | None = None


def _place(place: Place) -> str:
    """Where an entry lies, in words."""
    where = f"{visible(place.path)} at byte {place.offset:,}"
    if place.block_length is None or place.inner_offset is None:
        return where
    return f"{where}, in a block of {place.block_length:,} bytes; decompressed, at byte {place.inner_offset:,} of it"


@dataclass(frozen=True)
class Row(Span):
    """One line of the picture: a heading without bytes, or bytes with their name."""

    heading: bool


def rows(spans: Sequence[Span], length: int) -> tuple[Row, ...]:
    """Spans as lines that cover every byte from 0 to `length` exactly once; headings cover none."""
    covered: list[Row] = []
    reached, _ = _cover(spans, 0, -1, (0, length), False, covered)
    _gap(covered, reached, length, 0, True)
    return tuple(covered)


def _cover(
    spans: Sequence[Span], at: int, parent_depth: int, room: tuple[int, int], secret: bool, covered: list[Row]
) -> tuple[int, int]:
    """Lines for the spans from `at` on that are deeper than the parent; returns byte and span reached."""
    reached, limit = room
    first = at
    while at < len(spans) and spans[at].depth > parent_depth:
        span = spans[at]
        start = min(max(span.start, reached), limit)
        end = min(max(span.end, start), limit)
        is_opening = at == first and parent_depth >= 0 and start - reached <= MAX_TAG_AND_LENGTH
        _gap(covered, reached, start, parent_depth + 1, secret or not is_opening)
        hidden = secret or span.secret
        heading = at + 1 < len(spans) and spans[at + 1].depth > span.depth
        covered.append(Row(start, end, span.label, span.value, span.depth, hidden, heading))
        if heading:
            inner, at = _cover(spans, at + 1, span.depth, (start, end), hidden, covered)
            _gap(covered, inner, end, span.depth + 1, True)
        else:
            at += 1
        reached = end
    return reached, at


def _gap(covered: list[Row], start: int, end: int, depth: int, secret: bool) -> None:
    """A line for bytes no span describes; at the opening of a field that holds others, its tag and length."""
    if end > start:
        label = "(not described)" if secret else "(tag and length)"
        covered.append(Row(start, end, label, "", max(depth, 0), secret, False))


def print_explain(model: ExplainModel, console: Console) -> None:
    """Where the entry is, whether it can be trusted, its bytes beside their fields, and what it belongs to."""
    _line(console, Text(f"Entry {visible(model.position)}: {visible(model.checksum)}", style="bold"))
    topic = "unknown" if model.topic is None else visible(model.topic)
    _line(console, Text(f"Topic: {topic}"))
    place = _place(model.place)
    _line(console, Text(f"Stored in {place}, {model.length:,} bytes"))
    for note in model.notes:
        _line(console, Text(f"Note: {visible(note)}", style="yellow"))
    console.print()
    console.print(_hex_table(model, console))
    if len(model.data) < model.length:
        _line(console, Text(f"The last {model.length - len(model.data):,} bytes are not shown."))
    _named(console, "Metadata", model.metadata, model.show_values)
    if model.publication is not None:
        _named(console, "The chunked message it belongs to", model.publication, model.show_values)
    if model.subscriptions is not None:
        none = (NamedValue("none", "the saved state names no subscription of this topic"),)
        _named(console, "Subscriptions", model.subscriptions or none, model.show_values)
    if not model.show_values:
        console.print()
        _line(console, Text("Payload, keys and property values are hidden; --show-values shows them.", style="dim"))


def _line(console: Console, text: Text) -> None:
    console.print(text, highlight=False, overflow="fold")


def _hex_table(model: ExplainModel, console: Console) -> Table:
    per_line = 16 if console.width >= WIDE_CONSOLE else 8
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("Byte", justify="right", no_wrap=True)
    table.add_column("Hex", no_wrap=True, width=per_line * 3 - 1)
    table.add_column("Field", overflow="fold")
    table.add_column("Value", overflow="fold", ratio=1)
    for row in rows(model.spans, min(len(model.data), model.length)):
        hidden = row.secret and not model.show_values
        label = Text("  " * row.depth + visible(row.label, 80), style="bold" if row.heading else "")
        table.add_row(
            Text(str(row.start)),
            _hex(model.data[row.start : row.end], per_line, row.heading, hidden),
            label,
            _value(row, hidden),
        )
    return table


def _hex(data: bytes, per_line: int, heading: bool, hidden: bool) -> Text:
    if heading:
        return Text("")
    if hidden:
        return Text("withheld", style="dim")
    shown = data[:MAX_HEX_BYTES]
    lines = [shown[at : at + per_line].hex(" ") for at in range(0, len(shown), per_line)]
    if len(data) > len(shown):
        lines.append(f"+ {len(data) - len(shown):,} bytes")
    return Text("\n".join(lines), style="cyan")


def _value(row: Row, hidden: bool) -> Text:
    size = f"{row.end - row.start:,} bytes"
    if row.heading or hidden:
        return Text(size, style="dim")
    return Text(visible(row.value, MAX_VALUE)) if row.value else Text("")


def _named(console: Console, title: str, values: Sequence[NamedValue], show: bool) -> None:
    console.print()
    _line(console, Text(title, style="bold"))
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(overflow="fold")
    table.add_column(overflow="fold", ratio=1)
    for item in values:
        hidden = item.secret and not show
        value = Text("withheld", style="dim") if hidden else Text(visible(item.value, MAX_VALUE))
        table.add_row(Text(visible(item.name, 80)), value)
    console.print(Padding(table, (0, 0, 0, 2)))
