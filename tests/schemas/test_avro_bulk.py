"""Payloads in bulk: the same values and the same errors as fastavro gives, one by one, whatever the bytes are."""

from __future__ import annotations

import io
import json
import math
from itertools import count
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.schemas import avro_bulk
from pulsar_backlog.schemas.avro import avro_codec
from pulsar_backlog.schemas.avro_bulk import BulkCodec
from pulsar_backlog.schemas.results import Values
from pulsar_backlog.wire.byte_views import VIEW
from tests.examples import examples

NUMBERS = count()
"""Of named types: each has a name of its own."""
LEAVES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32),
    "double": st.floats(),
    "string": st.text(max_size=8),
}
LOGICAL: list[tuple[dict[str, str], st.SearchStrategy[Any]]] = [
    ({"type": "int", "logicalType": "date"}, st.dates()),
    ({"type": "long", "logicalType": "timestamp-millis"}, st.integers(-(10**14), 3 * 10**14)),
    ({"type": "long", "logicalType": "timestamp-micros"}, st.integers(-(10**17), 3 * 10**17)),
    ({"type": "long", "logicalType": "local-timestamp-micros"}, st.integers(-(10**17), 3 * 10**17)),
]


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> tuple[Any, st.SearchStrategy[Any]]:
    """A schema, and values of it as fastavro writes them."""
    kind = draw(st.sampled_from(["leaf", "leaf", "logical", "enum", "null", "record", "array"][: 5 + 2 * (depth > 0)]))
    if kind == "leaf":
        name = draw(st.sampled_from(sorted(LEAVES)))
        return name, LEAVES[name]
    if kind == "logical":
        return draw(st.sampled_from(LOGICAL))
    name = f"N{next(NUMBERS)}"
    if kind == "enum":
        symbols = draw(st.lists(st.sampled_from(["A", "B", "C", "D"]), min_size=1, unique=True))
        return {"type": "enum", "name": name, "symbols": symbols}, st.sampled_from(symbols)
    inner, values = draw(schemas(depth=depth - 1))
    if kind == "null":
        if isinstance(inner, list):
            return inner, values
        return draw(st.permutations(["null", inner])), st.none() | values
    if kind == "array":
        return {"type": "array", "items": inner}, st.lists(values, max_size=3)
    fields = [(inner, values), *draw(st.lists(schemas(depth=depth - 1), max_size=2))]
    named = [{"name": f"a{at}", "type": one} for at, (one, _) in enumerate(fields)]
    made = st.fixed_dictionaries({f"a{at}": one for at, (_, one) in enumerate(fields)})
    return {"type": "record", "name": name, "fields": named}, made


def encoded(schema: Any, value: Any) -> bytes:
    stream = io.BytesIO()
    plain = json.loads(json.dumps(schema), object_hook=_without_times)
    fastavro.schemaless_writer(stream, fastavro.parse_schema(plain, named_schemas={}), value)
    return stream.getvalue()


def _without_times(one: dict[str, Any]) -> dict[str, Any]:
    """Times are given as numbers, also those that no table has."""
    return one if "timestamp" not in one.get("logicalType", "") else {"type": one["type"]}


def both(schema: Any, payloads: list[bytes | None]) -> Values:
    """What is made in bulk, which is what fastavro makes of each."""
    codec = avro_codec(schema, schema)
    assert isinstance(codec, BulkCodec), schema
    made, alone = codec.values(pa.array(payloads, pa.binary())), codec._rows.values(pa.array(payloads, pa.binary()))
    of_views = codec.values(pa.array(payloads, VIEW))
    assert _comparable(of_views.values.to_pylist()) == _comparable(made.values.to_pylist())
    assert list(of_views.errors) == list(made.errors)
    made.values.validate(full=True)
    assert made.values.type == alone.values.type
    assert _comparable(made.values.to_pylist()) == _comparable(alone.values.to_pylist())
    assert list(made.errors) == list(alone.errors)
    return made


def _comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _comparable(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_comparable(one) for one in value]
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


@given(st.data(), schemas())
@examples(200)
def test_values_of_any_schema(data: st.DataObject, given: tuple[Any, st.SearchStrategy[Any]]) -> None:
    schema, values = given
    payloads = [None if one is None else encoded(schema, one) for one in data.draw(st.lists(values, max_size=5))]
    both(schema, payloads)


@given(st.data(), schemas())
@examples(300)
def test_whatever_bytes_there_are(data: st.DataObject, given: tuple[Any, st.SearchStrategy[Any]]) -> None:
    schema, values = given
    sound = encoded(schema, data.draw(values.filter(lambda one: one is not None or isinstance(schema, list))))
    broken = bytearray(sound)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(broken)))
        broken[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
    both(schema, [sound, bytes(broken), sound])
    both(schema, [bytes(broken)])


@given(st.data(), schemas())
@examples(300)
def test_bytes_of_one_payload_in_its_neighbour(data: st.DataObject, given: tuple[Any, st.SearchStrategy[Any]]) -> None:
    schema, values = given
    there = values.filter(lambda one: one is not None or isinstance(schema, list))
    sound = [encoded(schema, one) for one in data.draw(st.lists(there, min_size=2, max_size=4))]
    together = b"".join(sound)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(together)), min_size=len(sound) - 1, max_size=len(sound) - 1)))
    both(schema, [together[first:last] for first, last in zip([0, *cuts], [*cuts, len(together)], strict=True)])


NEIGHBOURS = [
    ("long", [b"\x02\x04", b""]),  # two values in the first, none in the second
    ("long", [b"\x82", b"\x00"]),  # one value in both
    ("long", [b"\x82\x00", b"\x04"]),  # longer than it needs to be: fastavro takes it
    ("long", [b"\x82", b"\x00\x04", b""]),
    ("string", [b"\x04a", b"b\x00"]),
    ("string", [b"\x04a", b"b", b"\x00"]),
    ("string", [b"\x00", b"\x00\x00"]),  # as many items as are told, and then an end of its own
    ({"type": "array", "items": "long"}, [b"\x02\x02", b"\x00"]),
    ({"type": "array", "items": "long"}, [b"\x01\x02\x02\x00", b"\x02\x02\x00"]),  # with the size of a block
]


@pytest.mark.parametrize(("schema", "payloads"), NEIGHBOURS, ids=str)
def test_each_payload_is_read_alone(schema: Any, payloads: list[bytes | None]) -> None:
    both(schema, payloads)


def test_rows_of_a_part_of_a_column_are_read_in_bulk(monkeypatch: pytest.MonkeyPatch) -> None:
    codec = avro_codec("long", "long")
    assert isinstance(codec, BulkCodec)
    monkeypatch.setattr(type(codec._rows), "values", lambda _, some: pytest.fail(f"{len(some)} were read one by one"))
    payloads = pa.array([b"\xff", *(encoded("long", number) for number in range(600)), b"\xff"], pa.binary())
    assert codec.values(payloads[1:-1]).values.to_pylist() == [*range(600)]
    assert codec.values(payloads.cast(VIEW)[1:-1]).values.to_pylist() == [*range(600)]


ORDER = {
    "type": "record", "name": "Order", "namespace": "TypedReader$Inner",
    "fields": [
        {"name": "customer", "type": ["null", "string"], "default": None},
        {"name": "id", "type": "long"},
        {"name": "lines", "type": {"type": "array", "items": {
            "type": "record", "name": "Line", "fields": [{"name": "pieces", "type": "int"}]}}},
        {"name": "first", "type": ["null", "Line"]},
    ],
}  # fmt: skip


def order(number: int) -> bytes:
    first = {"pieces": number} if number % 2 else None
    return encoded(
        ORDER, {"customer": f"c{number}", "id": number, "lines": [{"pieces": 1}] * (number % 3), "first": first}
    )


UNUSUAL = [
    (order(5)[:-1], "it ends too early for its schema"),
    (order(5) + b"\0", "1 bytes follow what the schema describes"),
    (b"\x06" + order(5)[1:], None),  # a branch that the union has not
    (order(5).replace(b"c5", b"\xff\xfe"), "a text in it is not UTF-8"),
    (encoded(ORDER, {"customer": None, "id": 1, "lines": [], "first": None})[:-1] + b"\x02\x80\x80\x80\x80\x20", None),
]  # fmt: skip
"""Payloads that are not read in bulk, and the error where its words matter here."""


@pytest.mark.parametrize(("payload", "error"), UNUSUAL)
def test_an_unusual_payload_among_many_is_told_and_the_others_are_read_in_bulk(
    payload: bytes, error: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    payloads = [order(number) for number in range(4 * avro_bulk.LEAST_ROWS)]
    payloads[700] = payload
    made = both(ORDER, [*payloads])
    assert [at for at, one in enumerate(made.errors) if one] == [700]
    assert error is None or made.errors[700] == error
    codec = avro_codec(ORDER, ORDER)
    assert isinstance(codec, BulkCodec)
    alone: list[int] = []
    rows = codec._rows.values
    monkeypatch.setattr(type(codec._rows), "values", lambda _, some: alone.append(len(some)) or rows(some))
    codec.values(pa.array(payloads))
    assert alone == [avro_bulk.LEAST_ROWS]


NOT_IN_BULK = [
    "bytes",
    {"type": "map", "values": "int"},
    ["null", "int", "long"],
    ["string", "int"],
    {"type": "fixed", "name": "F", "size": 2},
    {"type": "int", "logicalType": "time-millis"},
    {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
    {"type": "record", "name": "Empty", "fields": []},
    {"type": "record", "name": "R", "fields": [{"name": "next", "type": ["null", "R"]}]},
]


@pytest.mark.parametrize("schema", NOT_IN_BULK, ids=json.dumps)
def test_types_that_only_fastavro_reads(schema: Any) -> None:
    assert not isinstance(avro_codec(schema, schema), BulkCodec)


def test_an_older_version_is_resolved_by_fastavro() -> None:
    older = ORDER | {"fields": ORDER["fields"][:2]}  # type: ignore[index]
    assert not isinstance(avro_codec(older, ORDER), BulkCodec)
