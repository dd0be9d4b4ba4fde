"""One entry, hex beside fields; what people sent stays hidden unless they ask."""

from __future__ import annotations

import io
import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from pulsar_backlog.ledgers.entry_batch import Place
from pulsar_backlog.report.terminal.explain import ExplainModel, NamedValue, Span, print_explain, rows

# Bytes of an entry in small: magic, CRC, metadata size, producer "p1", a property map {color: qzx}, payload.
PROPERTY = b"\x22\x0c\x0a\x05color\x12\x03qzx"
METADATA = b"\x0a\x02p1" + PROPERTY
PAYLOAD = b"top secret payload"
ENTRY = b"\x0e\x01" + struct.pack(">I", 0xCAFEBABE) + struct.pack(">I", len(METADATA)) + METADATA + PAYLOAD
META = 10
SPANS = (
    Span(0, 2, "checksum magic", "0x0e01", 0, False),
    Span(2, 6, "checksum", "3405691582", 0, False),
    Span(6, META + len(METADATA), "metadata", "", 0, False),
    Span(6, 10, "size", str(len(METADATA)), 1, False),
    Span(10, 14, "producer_name", "p1", 1, False),
    Span(14, 28, "properties", "", 1, False),
    Span(16, 23, "key", "color", 2, False),
    Span(23, 28, "value", "qzx", 2, True),
    Span(28, len(ENTRY), "payload", "top secret payload", 0, True),
)
MODEL = ExplainModel(
    position="22:0",
    topic="persistent://lab/s3/brk-dup-prefix",
    place=Place("26d74e29-9ae6-44f5-a672-539f6e1a3bf9-ledger-22", 136, len(ENTRY)),
    data=ENTRY,
    length=len(ENTRY),
    spans=SPANS,
    checksum="the CRC-32C agrees",
    metadata=(NamedValue("producer_name", "p1"), NamedValue("properties.color", "qzx", secret=True)),
    publication=(NamedValue("uuid", "raw2-0"), NamedValue("state", "whole")),
)


def printed(model: ExplainModel, width: int = 120) -> str:
    out = io.StringIO()
    print_explain(model, Console(file=out, width=width))
    return out.getvalue()


def test_hex_stands_beside_each_field() -> None:
    lines = printed(MODEL).splitlines()
    assert lines[0] == "Entry 22:0: the CRC-32C agrees"
    assert "Stored in 26d74e29-9ae6-44f5-a672-539f6e1a3bf9-ledger-22 at byte 136, 46 bytes" in lines
    fields = [line.split() for line in lines]
    assert ["2", "ca", "fe", "ba", "be", "checksum", "3405691582"] in fields
    assert ["10", "0a", "02", "70", "31", "producer_name", "p1"] in fields
    assert ["14", "22", "0c", "(tag", "and", "length)"] in fields
    assert ["16", "0a", "05", "63", "6f", "6c", "6f", "72", "key", "color"] in fields
    assert ["23", "withheld", "value", "5", "bytes"] in fields
    assert ["uuid", "raw2-0"] in fields


def test_secrets_are_withheld_until_asked_for() -> None:
    hidden = printed(MODEL)
    for secret in ("qzx", "71 7a 78", "secret", PAYLOAD[:4].hex(" ")):
        assert secret not in hidden, secret
    shown = printed(replace(MODEL, show_values=True))
    for secret in ("qzx", "71 7a 78", "top secret payload", PAYLOAD[:4].hex(" ")):
        assert secret in shown, secret
    assert "withheld" not in shown


def test_bytes_nobody_described_are_withheld() -> None:
    assert PAYLOAD[:4].hex(" ") not in printed(replace(MODEL, spans=SPANS[:-1]))
    assert ENTRY[:2].hex(" ") not in printed(replace(MODEL, spans=()))
    trailing = (Span(0, 46, "metadata", "", 0, False), Span(0, 2, "size", "1", 1, False))
    assert PAYLOAD[:4].hex(" ") not in printed(replace(MODEL, spans=trailing))
    long_opening = (Span(0, 46, "metadata", "", 0, False), Span(40, 46, "x", "1", 1, False))
    assert "70 31" not in printed(replace(MODEL, spans=long_opening))


def test_everything_under_a_secret_is_secret() -> None:
    spans = (Span(0, 46, "encryption_keys", "", 0, True), Span(2, 6, "key", "labkey", 1, False))
    text = printed(replace(MODEL, spans=spans))
    assert "labkey" not in text
    assert "ca fe" not in text


def test_long_fields_and_cut_entries_say_how_much_is_missing() -> None:
    model = replace(MODEL, data=bytes(100), length=5000, spans=(Span(0, 100, "zeros", "0", 0, False),))
    text = printed(model)
    assert "+ 36 bytes" in text
    assert "The last 4,900 bytes are not shown." in text


@pytest.mark.parametrize("width", [40, 60, 99, 100, 200])
def test_lines_fit(width: int) -> None:
    model = replace(MODEL, topic="t" * 500, checksum="\x1b[31mred", notes=("two\nlines",))
    text = printed(model, width)
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text
    assert "ca fe ba be" in text


spans_strategy = st.lists(
    st.builds(
        Span,
        start=st.integers(-5, 60),
        end=st.integers(-5, 60),
        label=st.text(max_size=3),
        value=st.text(max_size=3),
        depth=st.integers(0, 4),
        secret=st.booleans(),
    ),
    max_size=8,
)


@given(spans_strategy, st.integers(0, 50))
def test_every_byte_stands_on_exactly_one_line(spans: list[Span], length: int) -> None:
    reached = 0
    for row in rows(spans, length):
        if not row.heading:
            assert row.start == reached
            reached = row.end
    assert reached == length
