"""Batches by the compiled reader, against `read_batch`: the same rows, whatever the bytes are."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.messages.arrow_rows import BATCH_BYTES, BATCH_ROWS, Rows
from pulsar_backlog.messages.batch_members import BatchMembers, stored_batches
from pulsar_backlog.messages.entry_payloads import PayloadOpener
from pulsar_backlog.messages.payloads import PayloadStore
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.wire.encryption import KeyRing
from pulsar_backlog.wire.metadata import END_OF_TIME_MS
from tests.examples import examples
from tests.wire.encode import number, run

SCHEMA = arrow_schema(TABLES["messages"])
EMPTY = pa.RecordBatch.from_pylist([], SCHEMA)
Opened: TypeAlias = tuple[list[dict[str, Any]], int]
STORE = PayloadStore("", 100, 100)
ENTRIES = pa.RecordBatch.from_pylist([{"entry_id": at, "ledger_id": 5, "topic": f"t{at}"} for at in range(3)])


def member(payload: bytes, metadata: bytes, size: int | None = None) -> bytes:
    metadata += number(3, len(payload) if size is None else size)
    return len(metadata).to_bytes(4) + metadata + payload


def pair(key: bytes, value: bytes) -> bytes:
    return run(1, run(1, key) + run(2, value))


def opened(batches: list[tuple[int, bytes]], way: Literal["one by one", "copied", "in place"]) -> Opened:
    """Rows of batches, one an entry; and how many of them the compiled reader left."""
    columns = pa.RecordBatch.from_pylist(
        [
            {"num_messages_in_batch": count, "checksum_state": "valid", "index": 40 + at if at % 2 else None,
             "sequence_id": 7 + at}
            for at, (count, _) in enumerate(batches)
        ],
        schema=pa.schema([
            ("num_messages_in_batch", pa.int32()), ("checksum_state", pa.string()), ("index", pa.int64()),
            ("sequence_id", pa.int64()),
        ]),
    )  # fmt: skip
    opener = PayloadOpener(columns, ENTRIES[: len(batches)], STORE, KeyRing({}), SCHEMA)
    if way == "one by one":
        opener.plain.add = lambda *_: False  # type: ignore[method-assign]
    stored = stored_members(columns, [data for _, data in batches]) if way == "in place" else {}
    others = [(at, data) for at, (_, data) in enumerate(batches) if at not in stored]
    left = sum(isinstance(opener.open(at, memoryview(data)), Rows) for at, data in others)
    made = [*opener.bare.take(), *opener.members.take(), *opener.plain.take(), *stored.values()]
    for batch in made:
        batch.validate(full=True)
        assert batch.schema == SCHEMA
    rows = [row for batch in made for row in batch.to_pylist(maps_as_pydicts="strict")]
    return sorted(rows, key=lambda row: (row["entry_id"], row["batch_index"])), left


def stored_members(columns: pa.RecordBatch, batches: list[bytes]) -> dict[int, pa.RecordBatch]:
    """What is read where it lies, by the place of its entry: with other bytes around, all of it at once."""
    around = b"\0\0\0\2\x18\0"  # as a member of no bytes
    buffer = np.frombuffer(around + b"".join(data + around for data in batches), dtype=np.uint8)
    lengths = np.array([len(data) for data in batches])
    end = np.cumsum(lengths + len(around))
    members = BatchMembers(columns, ENTRIES[: len(batches)], STORE, SCHEMA, buffer)
    (run,) = (*stored_batches(columns, lengths), np.array([], dtype=np.int64))[:1]
    plain = members.add_stored(run, (end - lengths)[run], end[run])
    rows = [*members.take()]
    found = set(rows[0].column("entry_id").to_pylist()) if rows else set()
    assert found <= set(run[plain].tolist())
    return {
        at: rows[0].filter(pc.equal(rows[0].column("entry_id"), at)) if rows else EMPTY for at in run[plain].tolist()
    }


def agree(*batches: tuple[int, bytes]) -> int:
    """How many batches the compiled reader left, after its rows were held against those of the other."""
    rows, left = opened([*batches], "copied")
    assert rows == opened([*batches], "one by one")[0]
    assert opened([*batches], "in place") == (rows, left)
    return left


FULL = (
    pair("schlüssel".encode(), b"v") + pair(b"k2", b"") + run(2, b"a2V5") + number(4, 0) + number(5, 1_700_000_000_000)
    + number(6, 1) + run(7, b"\0\xff") + number(8, 99) + number(9, 0) + number(10, 0)
)  # fmt: skip
OUT = member(b"", pair(b"k", b"v") + number(4, 1))
PLAIN = [
    pytest.param((1, member(b"v", b"")), id="no field but the size"),
    pytest.param((1, member(b"value", FULL)), id="all fields"),
    pytest.param((2, member(b"", b"") * 2), id="empty payloads"),
    pytest.param((2, member(b"a", b"") + member(b"", number(9, 1))), id="a null value"),
    pytest.param((3, member(b"a", b"") + OUT + member(b"c", FULL)), id="taken out"),
    pytest.param((1, member(b"", number(4, 1))), id="all taken out"),
    pytest.param((1, member(b"v", number(5, 0))), id="an event time that was never set"),
    pytest.param((1, member(b"v", number(8, -1))), id="a sequence id below zero"),
    pytest.param((1, member(b"v" * 100, b"")), id="as large as a row may be"),
]  # fmt: skip
UNUSUAL = [
    pytest.param((1, member(b"kept", number(9, 1))), id="a null value that holds bytes"),
    pytest.param((1, member(b"v" * 101, b"")), id="larger than a row may be"),
    pytest.param((1, member(b"v", pair(b"k", b"1") + pair(b"k", b"2"))), id="a repeated property"),
    pytest.param((1, member(b"v", run(2, b"\xff"))), id="a key that is not UTF-8"),
    pytest.param((1, member(b"v", number(5, END_OF_TIME_MS))), id="a time that no table has"),
    pytest.param((1, member(b"v", number(6, 2))), id="a bool that is neither"),
    pytest.param((1, member(b"v", number(8, 1) + number(8, 2))), id="a repeated field"),
    pytest.param((1, member(b"v", number(30, 2))), id="an unknown field"),
    pytest.param((1, member(b"v", run(8, b"x"))), id="a field of another type"),
    pytest.param((1, member(b"v", b"") + b"x"), id="bytes after the last"),
    pytest.param((2, member(b"v", b"")), id="fewer than said"),
    pytest.param((1, member(b"v", b"", size=9)), id="a payload that is cut off"),
    pytest.param((1, member(b"v", b"", size=-1)), id="a size below zero"),
    pytest.param((1, b"\xff\xff\xff\xff" + b"x" * 9), id="metadata that are cut off"),
    pytest.param((1, b"\0\0\0\1\x08v"), id="no size"),
    pytest.param((0, member(b"v", b"")), id="a count of none"),
    pytest.param((2**31 - 1, member(b"v", b"")), id="more than its bytes can hold"),
    pytest.param((1, member(b"v", b"".join(pair(b"%d" % n, b"") for n in range(65)))), id="very many properties"),
]  # fmt: skip


@pytest.mark.parametrize("batch", PLAIN)
def test_plain_batches_are_read_by_the_compiled_reader(batch: tuple[int, bytes]) -> None:
    other = (2, member(b"one", run(2, b"key")) + member(b"two", b""))
    assert agree(other, batch, other) == 0


@pytest.mark.parametrize("batch", UNUSUAL)
def test_unusual_batches_are_left_and_change_nothing_beside_them(batch: tuple[int, bytes]) -> None:
    other = (2, member(b"one", FULL) + member(b"two", b""))
    assert agree(other, batch, other) == 1


FIELDS = st.one_of(
    st.tuples(st.binary(max_size=3), st.binary(max_size=3)).map(lambda both: pair(*both)),
    st.tuples(st.sampled_from([2, 7]), st.binary(max_size=4)).map(lambda one: run(*one)),
    st.tuples(st.integers(3, 11), st.integers(-1, 2**40)).map(lambda one: number(*one)),
    st.tuples(st.sampled_from([4, 6, 9, 10]), st.integers(0, 2)).map(lambda one: number(*one)),
    st.binary(max_size=3),
)  # fmt: skip
MEMBERS = st.builds(
    lambda payload, fields: member(payload, b"".join(fields)), st.binary(max_size=5), st.lists(FIELDS, max_size=4)
)


@given(st.data(), st.lists(MEMBERS, min_size=1, max_size=4))
@examples(300)
def test_any_batch(data: st.DataObject, members: list[bytes]) -> None:
    body = bytearray(b"".join(members))
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(body)))
        body[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    other = (1, member(b"v", FULL))
    agree(other, (data.draw(st.sampled_from([len(members), len(members), 1, 9])), bytes(body)), other)


def test_rows_that_were_taken_stay_as_they_are_while_others_are_gathered() -> None:
    columns = pa.RecordBatch.from_pylist([{"index": 5}, {"index": 6}])
    members = BatchMembers(columns, ENTRIES[:2], STORE, SCHEMA)
    assert members.add(0, 2, member(b"one", FULL) + member(b"three", FULL), "exported", "")
    (taken,) = members.take()
    before = taken.to_pylist()
    assert members.add(1, 2, member(b"fourteen", b"") + member(b"", b""), "exported", "")
    assert taken.to_pylist() == before
    assert [row["payload_bytes"] for row in before] == [3, 5]


IN_PLACE: dict[str, Any] = {
    "num_messages_in_batch": 2, "checksum_state": "valid", "compression": None, "uncompressed_size": 9,
    "encryption_keys": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("other", "stored"),
    [
        ({}, True),
        ({"compression": "NONE"}, True),
        ({"uncompressed_size": None}, True),
        ({"uncompressed_size": 0}, True),
        ({"num_messages_in_batch": None}, False),
        ({"num_messages_in_batch": 0}, False),
        ({"num_messages_in_batch": -1}, False),
        ({"checksum_state": "mismatch"}, False),
        ({"checksum_state": "absent"}, False),
        ({"checksum_state": None}, False),
        ({"compression": "LZ4"}, False),
        ({"uncompressed_size": 8}, False),
        ({"uncompressed_size": 10}, False),
        ({"encryption_keys": []}, False),
        ({"encryption_keys": [{"key": "k", "value": b"v"}]}, False),
    ],
    ids=str,
)
def test_only_batches_without_any_doubt_are_read_where_they_lie(other: dict[str, Any], stored: bool) -> None:
    keys = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    types = {"num_messages_in_batch": pa.int32(), "uncompressed_size": pa.int32(), "encryption_keys": keys}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in IN_PLACE])
    columns = pa.RecordBatch.from_pylist([IN_PLACE, IN_PLACE | other], schema=schema)
    assert [run.tolist() for run in stored_batches(columns, np.array([9, 9]))] == [[0, 1] if stored else [0]]


def test_batches_come_in_runs_that_are_not_too_large() -> None:
    def runs(sizes: list[int], lengths: list[int]) -> list[list[int]]:
        columns = pa.RecordBatch.from_pydict({"num_messages_in_batch": pa.array(sizes, pa.int32())})
        return [run.tolist() for run in stored_batches(columns, np.array(lengths))]

    assert runs([1] * 3, [BATCH_BYTES // 2] * 3) == [[0, 1], [2]]
    assert runs([BATCH_ROWS // 2] * 3, [60] * 3) == [[0, 1], [2]]
    assert runs([2**31 - 1] * 2, [60] * 2) == [[0], [1]]
    assert runs([0], [60]) == []
