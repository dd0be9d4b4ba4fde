"""Entries that a client would stumble over, exported: broken batches, placeholders, null values, odd sizes."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pulsar_backlog.frames.export.tasks import assign_tasks
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.messages import opening
from pulsar_backlog.messages.entry_rows import ExportContext, export_stretch, stretches
from pulsar_backlog.messages.keys import KeySource
from pulsar_backlog.messages.outcomes import NULL_WITH_BYTES
from pulsar_backlog.messages.payloads import PayloadStore
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema
from tests.wire.encode import entry, number, run

HEAD = run(1, b"p") + number(2, 7) + number(3, 1000)


@pytest.fixture(scope="module")
def schema() -> pa.Schema:
    return arrow_schema(TABLES["messages"])


def member(payload: bytes, more: bytes = b"", size: int | None = None) -> bytes:
    metadata = number(3, len(payload) if size is None else size) + more
    return struct.pack(">I", len(metadata)) + metadata + payload


def exported(bodies: Sequence[bytes], folder: Path, schema: pa.Schema, bound: int = 1 << 30) -> list[dict[str, Any]]:
    """The rows of entries that lie one after the other in an object."""
    data, rows = b"", []
    for entry_id, body in enumerate(bodies):
        rows.append((5, entry_id, len(data), len(body), 0, 0))
        data += body
    (folder / "object").write_bytes(data)
    names = ["ledger_id", "entry_id", "offset", "length", "txn_state", "batched", "inner_offset", "block_length"]
    plan = pa.RecordBatch.from_pylist(
        [dict(zip(names, (*row, None, None), strict=True)) | {"uri": "object"} for row in rows],
        schema=pa.schema([*((name, pa.int64()) for name in names), ("uri", pa.string())]),
    )
    context = ExportContext(
        "c", {5: "t"}, Source(str(folder), None), KeySource(), PayloadStore(str(folder), 1000, bound)
    )
    batches = (batch for part in stretches(plan) for batch in export_stretch(part, context, schema))
    found = [row for batch in batches for row in batch.to_pylist(maps_as_pydicts="strict")]
    return sorted(found, key=lambda row: (row["entry_id"], row["batch_index"]))


def test_a_batch_that_breaks_gives_what_stands_before_the_fault(tmp_path: Path, schema: pa.Schema) -> None:
    broken = member(b"one") + member(b"two", size=99)
    first, second = exported([entry(HEAD + number(11, 3), broken)], tmp_path, schema)
    assert (first["batch_index"], first["payload"], first["verified"]) == (0, b"one", False)
    assert (second["batch_index"], second["outcome"], second["payload"]) == (1, "undecodable", None)
    assert second["batch_size"] == 3


def test_bytes_after_the_last_member_make_the_batch_doubtful(tmp_path: Path, schema: pa.Schema) -> None:
    (only,) = exported([entry(HEAD + number(11, 1), member(b"one") + b"x")], tmp_path, schema)
    assert (only["payload"], only["verified"]) == (b"one", False)
    assert "batch_trailing_bytes" in only["reason"]


@pytest.mark.parametrize("count", [0, -1])
@pytest.mark.parametrize("payload", [b"", member(b"one")], ids=["empty", "full"])
def test_a_batch_of_no_messages_is_a_row_that_says_so(
    count: int, payload: bytes, tmp_path: Path, schema: pa.Schema
) -> None:
    (only,) = exported([entry(HEAD + number(11, count), payload)], tmp_path, schema)
    assert (only["batch_index"], only["batch_size"], only["outcome"]) == (-1, count, "undecodable")
    assert only["reason"] == f"batch_bad_count: expected 1 or more, found {count}"
    assert only["payload"] is None


def test_a_broken_batch_of_placeholders_alone_is_a_row(tmp_path: Path, schema: pa.Schema) -> None:
    (only,) = exported([entry(HEAD + number(11, 1), member(b"", number(4, 1)) + b"x")], tmp_path, schema)
    assert (only["batch_index"], only["batch_size"], only["outcome"]) == (-1, 1, "undecodable")


def test_placeholders_are_left_out_and_indexes_go_on(tmp_path: Path, schema: pa.Schema) -> None:
    batch = member(b"a") + member(b"", number(4, 1)) + member(b"c", number(8, 9))
    first, last = exported([entry(HEAD + number(11, 3), batch, broker=number(1, 5) + number(2, 41))], tmp_path, schema)
    assert [(row["batch_index"], row["payload"], row["index"]) for row in (first, last)] == [
        (0, b"a", 39),
        (2, b"c", 41),
    ]
    assert [row["sequence_id"] for row in (first, last)] == [7, 9]  # the batch's, and its own
    assert first["verified"]
    assert last["verified"]


@pytest.mark.parametrize("claim", [b"", number(9, 0)], ids=["absent", "zero"])
def test_a_compressed_payload_that_claims_to_be_empty_and_is_not_is_given_out_as_it_is(
    claim: bytes, tmp_path: Path, schema: pa.Schema
) -> None:
    packed, batch = zlib.compress(b"what was sent"), zlib.compress(member(b"one") + member(b"two"))
    compressed = HEAD + number(8, 2) + claim
    rows = exported([entry(compressed, packed), entry(compressed + number(11, 2), batch)], tmp_path, schema)
    assert [row["payload"] for row in rows] == [b"what was sent", b"one", b"two"]
    assert {(row["outcome"], row["verified"]) for row in rows} == {("wrong_size", False)}
    assert rows[0]["reason"] == "it holds 13 bytes, its metadata says 0"


@pytest.mark.parametrize(("codec", "stored"), [(1, "00"), (2, ""), (2, "789c030000000001"), (3, ""), (4, "00")])
def test_an_empty_message_under_a_codec_is_verified(codec: int, stored: str, tmp_path: Path, schema: pa.Schema) -> None:
    (only,) = exported([entry(HEAD + number(8, codec), bytes.fromhex(stored))], tmp_path, schema)
    assert (only["payload"], only["outcome"], only["verified"]) == (b"", "exported", True)


def test_null_is_not_empty(tmp_path: Path, schema: pa.Schema) -> None:
    null, empty, inner = exported(
        [
            entry(HEAD + number(25, 1), b""),
            entry(HEAD, b""),
            entry(HEAD + number(11, 1), member(b"", number(9, 1))),
        ],
        tmp_path,
        schema,
    )
    assert (null["payload"], null["payload_bytes"], null["payload_sha256"], null["verified"]) == (None, 0, None, True)
    assert (empty["payload"], empty["payload_bytes"], empty["verified"]) == (b"", 0, True)
    assert (inner["payload"], inner["null_value"], inner["verified"]) == (None, True, True)


def test_null_that_holds_bytes_is_given_out_and_not_verified(tmp_path: Path, schema: pa.Schema) -> None:
    entries = [entry(HEAD + number(25, 1), b"kept"), entry(HEAD + number(11, 1), member(b"kept", number(9, 1)))]
    for row in exported(entries, tmp_path, schema):
        assert (row["payload"], row["null_value"], row["outcome"], row["verified"]) == (
            b"kept",
            True,
            "exported",
            False,
        )
        assert row["reason"] == NULL_WITH_BYTES


def test_what_cannot_be_vouched_for_says_why(tmp_path: Path, schema: pa.Schema) -> None:
    sound = entry(HEAD, b"payload")
    damaged = sound[:-1] + bytes([sound[-1] ^ 1])
    rows = exported(
        [entry(HEAD, b"payload", checksum=False), damaged, entry(HEAD + number(9, 3), b"payload"), b"\0\0", sound],
        tmp_path,
        schema,
    )
    assert [row["outcome"] for row in rows] == ["exported", "corrupt", "wrong_size", "corrupt", "exported"]
    assert [row["verified"] for row in rows] == [False, False, False, False, True]
    assert [row["payload"] for row in rows] == [b"payload", None, b"payload", None, b"payload"]
    assert [bool(row["reason"]) for row in rows] == [True, True, True, True, False]


def test_tasks_get_equal_shares_and_every_bin_once() -> None:
    bins = [(1, n, 60_000_000 + n) for n in range(40)] + [(2, 0, 1 << 30)]
    tasks = assign_tasks(bins, cores=2)
    assert sorted((ledger, n) for ledger, n, _ in tasks) == sorted((ledger, n) for ledger, n, _ in bins)
    loads: dict[int, int] = {}
    sizes = {(ledger, n): size for ledger, n, size in bins}
    for ledger, n, task in tasks:
        loads[task] = loads.get(task, 0) + sizes[ledger, n]
    assert max(loads.values()) == 1 << 30  # what cannot be divided is alone
    rest = [load for load in loads.values() if load != 1 << 30]
    assert max(rest) < 2 * min(rest)
    assert assign_tasks([], cores=2) == []


def packed(size: int) -> bytes:
    return zlib.compress(bytes(size))


@pytest.mark.parametrize("batched", [False, True])
def test_an_entry_that_says_it_is_larger_than_may_be_is_not_opened(
    batched: bool, tmp_path: Path, schema: pa.Schema
) -> None:
    head = HEAD + number(8, 2) + number(9, 0xFFFFFFFF) + (number(11, 1) if batched else b"")
    (only,) = exported([entry(head, packed(100))], tmp_path, schema)
    assert (only["outcome"], only["payload"], only["verified"]) == ("too_large", None, False)
    assert "4294967295 bytes: name a larger --max-message-bytes than 1073741824" in only["reason"]


@pytest.mark.parametrize("claim", [10, 20 << 20])
def test_an_entry_that_holds_more_than_may_be_is_given_up(claim: int, tmp_path: Path, schema: pa.Schema) -> None:
    head = HEAD + number(8, 2) + number(9, claim)
    (only,) = exported([entry(head, packed(60 << 20))], tmp_path, schema, 30 << 20)
    assert (only["outcome"], only["payload_file"]) == ("too_large", None)
    (bare,) = exported([entry(HEAD, bytes(2000))], tmp_path, schema, 1999)
    assert (bare["outcome"], bare["payload"], bare["payload_file"]) == ("too_large", None, None)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "object"]


def test_large_entries_are_what_they_were(tmp_path: Path, schema: pa.Schema) -> None:
    """Above 8 MiB a single message streams into its file; a batch is put together, and taken apart."""
    data = bytes(range(256)) * (40 << 10)
    batch = member(data) + member(b"second")
    single = entry(HEAD + number(8, 2) + number(9, len(data)), zlib.compress(data))
    lying = entry(HEAD + number(8, 2) + number(9, len(data) + 1), zlib.compress(data))
    many = entry(HEAD + number(8, 2) + number(9, len(batch)) + number(11, 2), zlib.compress(batch))
    first, lie, one, two = exported([single, lying, many], tmp_path, schema)
    name = hashlib.sha256(data).hexdigest()
    for row in (first, lie, one):
        assert (row["payload_file"], row["payload_bytes"]) == (f"payloads/{name[:2]}/{name}", len(data))
    assert (tmp_path / first["payload_file"]).read_bytes() == data
    assert [row["verified"] for row in (first, lie, one, two)] == [True, False, True, True]
    assert lie["outcome"] == "wrong_size"
    assert two["payload"] == b"second"


def test_a_batch_that_opens_to_more_than_any_entry_is_not_taken_apart(
    tmp_path: Path, schema: pa.Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "MAX_HELD_BYTES", 9 << 20)
    head = HEAD + number(8, 2) + number(9, 60 << 20) + number(11, 2)
    (only,) = exported([entry(head, packed(60 << 20))], tmp_path, schema)
    assert (only["outcome"], only["batch_index"], only["batch_size"]) == ("too_large", -1, 2)


def test_entries_of_one_ledger_are_read_from_the_file_each_lies_in(tmp_path: Path, schema: pa.Schema) -> None:
    """As on two bookies: every other entry in the other's log, at offsets that both have."""
    bodies = [entry(HEAD, b"payload %d" % n) for n in range(6)]
    names = ("ledger_id", "entry_id", "offset", "length", "txn_state", "batched", "inner_offset", "block_length")
    rows = []
    for file in ("a", "b"):
        data = b""
        for entry_id in range("ab".index(file), 6, 2):
            body = bodies[entry_id]
            rows.append(
                dict(zip(names, (5, entry_id, len(data), len(body), 0, 0, None, None), strict=True)) | {"uri": file}
            )
            data += body
        (tmp_path / file).write_bytes(data)
    plan = pa.RecordBatch.from_pylist(
        rows, schema=pa.schema([*((name, pa.int64()) for name in names), ("uri", pa.string())])
    )
    store = PayloadStore(str(tmp_path), 1000, 1 << 30)
    context = ExportContext("c", {5: "t"}, Source(str(tmp_path), None), KeySource(), store)
    parts = list(stretches(plan))
    assert [(part.path, part.entry_id.tolist()) for part in parts] == [("a", [0, 2, 4]), ("b", [1, 3, 5])]
    found = [row for part in parts for batch in export_stretch(part, context, schema) for row in batch.to_pylist()]
    assert {row["entry_id"]: row["payload"] for row in found} == {n: b"payload %d" % n for n in range(6)}
    assert {row["positions"][0]["uri"] for row in found} == {"a", "b"}
