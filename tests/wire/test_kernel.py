"""The kernel against its oracle: the same columns for any bytes, no crash, no read out of bounds."""

from __future__ import annotations

from datetime import datetime

import google_crc32c
import numpy as np
import pyarrow as pa
import pytest
from encode import REQUIRED, entry, number, pair, run, varint
from golden import ENTRIES, FOLDER
from hypothesis import given
from hypothesis import strategies as st
from numba import jit as jit_anew

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire import jit, kernel
from pulsar_backlog.wire.columns import EntryDecoder, decode_entries
from pulsar_backlog.wire.entry import decode_entry
from pulsar_backlog.wire.primitives import is_utf8, same_bytes
from pulsar_backlog.wire.rows import wire_row
from tests.examples import examples

GUARD = b"\xa5" * 64


def _cut(text: str) -> bytes:
    return text.encode()[:-1]


def kernel_rows(entries: list[bytes]) -> tuple[list[dict[str, object] | str], int]:
    """What `decode_entries` makes of entries that lie one after the other: a row or a reject code each, and how
    many the kernel did itself. Between the entries lie bytes that belong to none."""
    buffer = np.frombuffer(GUARD + b"".join(e + GUARD for e in entries), dtype=np.uint8)
    lengths = np.array([len(e) for e in entries], dtype=np.int64)
    starts = np.array([len(GUARD)] * len(entries), dtype=np.int64)
    starts[1:] += np.cumsum(lengths[:-1] + len(GUARD))
    decoded = decode_entries(buffer, starts, lengths)
    found: dict[int, dict[str, object] | str] = dict(decoded.rows)
    found |= {place: error.code for place, error in decoded.errors}
    names = list(decoded.columns)
    columns = [decoded.columns[name].to_pylist() for name in names]
    for row, place in enumerate(decoded.plain.tolist()):
        found[place] = {name: column[row] for name, column in zip(names, columns, strict=True)}
    assert sorted(found) == list(range(len(entries)))
    return [found[place] for place in range(len(entries))], len(decoded.plain)


def oracle(data: bytes) -> dict[str, object] | str:
    try:
        return wire_row(decode_entry(data))
    except DecodeError as error:
        return error.code


def comparable(row: dict[str, object] | str) -> dict[str, object] | str:
    """Rows as both paths can give them: maps as dictionaries, absent columns left out."""
    if isinstance(row, str):
        return row
    return {name: dict(value) if name == "properties" else value for name, value in row.items() if value is not None}  # type: ignore[call-overload]


def agree(entries: list[bytes]) -> int:
    rows, plain = kernel_rows(entries)
    for data, row in zip(entries, rows, strict=True):
        assert comparable(row) == comparable(oracle(data)), data.hex()
    return plain


@pytest.mark.parametrize("name", ENTRIES)
def test_real_entries_give_the_same_columns(name: str) -> None:
    agree([(FOLDER / name).read_bytes()])


def test_plain_entries_are_read_by_the_kernel_and_not_left() -> None:
    rich = REQUIRED + pair("schlüssel".encode(), b"v") + pair(b"k2", b"") + run(6, b"key") + number(8, 2) + number(9, 7)
    rich += number(11, 3) + number(12, 5) + run(16, b"\0\1") + number(17, 1) + run(18, b"o") + number(19, 9)
    rich += number(24, 4) + number(25, 0) + run(26, b"p-0") + number(27, 2) + number(28, 9) + number(29, 0)
    entries = [entry(rich, broker=number(1, 5) + number(2, 6)), entry(), entry(checksum=False), entry(broker=b"")]
    assert agree(entries) == len(entries)


def test_a_wrong_checksum_is_the_kernels_own_finding() -> None:
    damaged = entry()[:-1] + b"!"
    rows, plain = kernel_rows([damaged])
    assert plain == 1
    assert isinstance(rows[0], dict)
    assert rows[0]["checksum_state"] == "mismatch"


@pytest.mark.parametrize(
    "metadata",
    [
        REQUIRED + number(21, 1),  # unknown field
        REQUIRED + number(2, 7),  # a scalar twice: the last one counts
        REQUIRED + run(2, b"x"),  # known field, other wire type
        REQUIRED + run(13, run(1, b"name") + run(2, b"wrapped")),
        REQUIRED + run(7, b"other-cluster") + run(7, b"third"),
        REQUIRED + number(31, 1) + number(31, 2),
        REQUIRED + run(31, varint(1) + varint(2)),  # packed
        REQUIRED + run(4, run(2, b"value first") + run(1, b"key")),
        REQUIRED + run(4, run(1, b"a") + run(1, b"b") + run(2, b"v")),
        REQUIRED + pair(b"k", b"1") + pair(b"k", b"2"),
        REQUIRED + b"".join(pair(b"k%d" % i, b"v") for i in range(70)),
        REQUIRED + run(6, b"\xed\xa0\x80"),  # a surrogate
        REQUIRED + run(6, b"\xc0\x80"),  # not the shortest form
        REQUIRED + number(11, 1 << 40),
        REQUIRED + number(25, 2),  # a bool that is neither
        REQUIRED + number(8, -1),
        REQUIRED + b"\x80\x80\x00\x00",  # a tag longer than it must be
        REQUIRED + b"\x0b\x0c",  # a group
        REQUIRED + varint(9 << 3) + b"\x80" * 9 + b"\x01",
        REQUIRED + varint(9 << 3) + b"\xff" * 9 + b"\x7f",  # a varint of more than 64 bits
        REQUIRED + varint(9 << 3) + b"\xff" * 11,
        REQUIRED + b"\x00\x00",  # field number 0
        number(2, 0) + number(3, 1),  # required field missing
    ],
)
def test_what_is_not_plain_goes_to_the_oracle(metadata: bytes) -> None:
    assert agree([entry(), entry(metadata), entry()]) == 2


FIELDS = st.sampled_from([*range(1, 36), 40, 100])
FIELD = st.one_of(
    st.builds(number, FIELDS, st.integers(0, (1 << 64) - 1) | st.integers(0, 300)),
    st.builds(run, FIELDS, st.binary(max_size=12)),
    st.builds(pair, st.binary(max_size=3), st.text(max_size=3).map(str.encode)),
    st.binary(max_size=4),
)
METADATA = st.lists(FIELD, max_size=8).map(b"".join)
HALF_GOOD = st.builds(
    entry, METADATA.map(lambda more: REQUIRED + more) | METADATA, st.binary(max_size=20),
    broker=st.none() | METADATA, checksum=st.booleans(),
)  # fmt: skip


@examples(400)
@given(st.lists(HALF_GOOD | st.binary(max_size=60), min_size=1, max_size=6))
def test_any_bytes_give_the_same_columns(entries: list[bytes]) -> None:
    agree(entries)


@examples(300)
@given(HALF_GOOD, st.data())
def test_damaged_entries_give_the_same_columns(data: bytes, draw: st.DataObject) -> None:
    at = draw.draw(st.integers(0, len(data) - 1))
    damaged = bytearray(data)
    damaged[at] ^= 1 << draw.draw(st.integers(0, 7))
    agree([bytes(damaged), data[: draw.draw(st.integers(0, len(data)))]])


def test_an_entry_outside_its_buffer_is_refused() -> None:
    with pytest.raises(ValueError, match="outside"):
        decode_entries(np.zeros(10, dtype=np.uint8), np.array([5]), np.array([6]))


MIXED = [
    entry(),
    entry(REQUIRED + pair(b"k", b"v") + pair(b"l", b"")),
    entry(REQUIRED + run(26, b"p-0") + number(27, 2) + number(28, 9) + number(29, 0)),
    entry(REQUIRED + b"".join(pair(b"k%d" % n, b"v" * 20) for n in range(60))),
    entry(REQUIRED + pair(b"k", b"v") + pair(b"k", b"again")),
    entry(b""),
    b"",
]
"""Three that the kernel reads, one with many properties, and three that it leaves: a repeated key, and two rejects."""


@given(
    st.lists(st.integers(0, len(MIXED) - 1), max_size=40),
    st.integers(1, 9),
    st.integers(1, 5),
    st.sampled_from([1, 60, 200, 4000]),
    st.sampled_from([0, 1, 64, None]),
)
@examples(60)
def test_entries_of_many_buffers_become_the_same_columns(
    numbers: list[int], per_buffer: int, max_entries: int, metadata_bytes: int, properties: int | None
) -> None:
    """However little room a decoder has, no entry is lost, doubled or changed."""
    entries = [MIXED[n] for n in numbers]
    found: list[object] = []
    decoder = EntryDecoder(max_entries, metadata_bytes, properties)

    def flush() -> None:
        decoded = decoder.decoded()
        rows: dict[int, object] = dict(decoded.rows) | {place: error.code for place, error in decoded.errors}
        columns = pa.RecordBatch.from_pydict(decoded.columns).to_pylist()
        rows |= dict(zip(decoded.plain.tolist(), columns, strict=True))
        assert sorted(rows) == list(range(len(rows)))
        assert len(rows) <= max(1, max_entries)
        found.extend(rows[place] for place in sorted(rows))

    for start in range(0, len(entries), per_buffer):
        part = entries[start : start + per_buffer]
        lengths = np.array([len(e) for e in part], dtype=np.int64)
        offsets = np.cumsum(lengths) - lengths
        first = 0
        buffer = np.frombuffer(b"".join(part), dtype=np.uint8).copy()
        while (first := first + decoder.add(buffer, offsets[first:], lengths[first:])) < len(part):
            flush()
            decoder = EntryDecoder(max_entries, max(metadata_bytes, len(part[first])), properties)
        buffer[:] = 0  # nothing that was gathered needs it any more
    flush()
    assert [comparable(row) for row in found] == [comparable(oracle(data)) for data in entries]  # type: ignore[arg-type]


NAMES = st.sampled_from([b"p", b"producer-1", b"producer-2", b"", *(b"name-%d" % n for n in range(20))])


@given(
    st.lists(st.tuples(NAMES, st.none() | st.sampled_from([b"", b"v1", b"v2"]), st.integers(0, 9)), max_size=40),
    st.integers(1, 40),
)
def test_what_repeats_is_the_same_in_dictionaries(messages: list[tuple[bytes, bytes | None, int]], room: int) -> None:
    entries = [
        # Of one in ten the kernel leaves the entry: an unknown field.
        entry(run(1, name) + number(2, 0) + number(3, 5) + (b"" if version is None else run(16, version))
              + (number(8, 1) if odd < 5 else b"") + (number(39, 1) if odd == 0 else b""))
        for name, version, odd in messages
    ]  # fmt: skip
    buffer = np.frombuffer(b"".join(entries), dtype=np.uint8)
    lengths = np.array([len(one) for one in entries], dtype=np.int64)
    starts = np.concatenate(([0], np.cumsum(lengths)))[: len(entries)].astype(np.int64)
    repeated = ("producer_name", "schema_version", "compression", "checksum_state")
    for first in range(0, len(entries), room):
        found = []
        for names in ((), repeated):
            decoder = EntryDecoder(room, 10_000, repeated=names)
            assert decoder.add(buffer, starts[first:], lengths[first:]) == min(room, len(entries) - first)
            found.append(decoder.decoded())
        plain, encoded = (one.columns for one in found)
        assert plain.keys() == encoded.keys()
        for name, column in encoded.items():
            assert pa.types.is_dictionary(column.type) == (name in repeated)
            assert (column.dictionary_decode() if name in repeated else column).equals(plain[name])
            if name in ("producer_name", "schema_version"):
                values = column.dictionary.to_pylist()
                assert sorted(values) == sorted(set(plain[name].drop_null().to_pylist())), "each once, none unused"


def test_each_byte_of_a_text_is_looked_at() -> None:
    """Eight are looked at together."""
    for place in range(20):
        text = bytearray(b"a" * 20)
        text[place] = 0xFF
        assert not is_utf8(np.frombuffer(bytes(text), dtype=np.uint8), 0, 20)


def test_no_entries_give_empty_columns() -> None:
    none = np.empty(0, dtype=np.int64)
    decoded = decode_entries(np.zeros(4, dtype=np.uint8), none, none)
    assert {len(column) for column in decoded.columns.values()} == {0}


@given(st.one_of(st.binary(max_size=70), st.binary(min_size=760, max_size=3000)), st.integers(0, 9))
def test_both_checksums_agree_with_the_library(data: bytes, start: int) -> None:
    start = min(start, len(data))
    buffer = np.frombuffer(data, dtype=np.uint8)
    expected = google_crc32c.value(data[start:])
    assert jit.crc32c(buffer, start, len(data)) == expected
    assert jit.crc32c_by_tables(buffer, start, len(data)) == expected


_PLACES = st.integers(0, 30)


@given(st.binary(min_size=40, max_size=70), _PLACES, _PLACES, st.integers(0, 40))
def test_same_bytes_are_the_same(data: bytes, one: int, other: int, length: int) -> None:
    length = min(length, len(data) - max(one, other))
    for a, b in ((data, one), (data[:one] + data[other : other + length] + data[one + length :], one)):
        buffer = np.frombuffer(a, dtype=np.uint8)
        assert same_bytes(buffer, b, other, length) == (a[b : b + length] == a[other : other + length])


@given(st.one_of(st.binary(max_size=12), st.text(max_size=30).map(str.encode), st.text(max_size=30).map(_cut)))
def test_utf8_is_what_python_takes(data: bytes) -> None:
    try:
        data.decode()
        expected = True
    except UnicodeDecodeError:
        expected = False
    assert is_utf8(np.frombuffer(data, dtype=np.uint8), 0, len(data)) == expected


def test_times_keep_their_milliseconds() -> None:
    rows, _ = kernel_rows([entry(run(1, b"p") + number(2, 0) + number(3, 1_795_258_669_645))])
    assert isinstance(rows[0], dict)
    assert rows[0]["publish_time"] == datetime.fromisoformat("2026-11-21T10:57:49.645+00:00")


def test_loops_count_no_references() -> None:
    """To count them at each call that is handed an array took half of the time of an entry."""
    kernel_rows([entry(REQUIRED)])
    loop = jit_anew(kernel.read_entries.py_func, **kernel.read_entries.targetoptions)  # what is cached is code alone
    loop.compile(kernel.read_entries.signatures[0])
    (code,) = loop.inspect_llvm().values()
    assert "read_entries" in code
    assert "NRT_incref" not in code
