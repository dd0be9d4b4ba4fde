"""Saved message ids. The bytes are those of real clients, or made with protobuf's own library."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pulsar
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.errors import UsageError
from pulsar_backlog.wire.message_id import MessageId, decode_message_id, parse_message_id


def _message_class() -> type:
    """MessageIdData of PulsarApi.proto, built here so that it shares nothing with the reader."""
    file = descriptor_pb2.FileDescriptorProto(name="message_id_test.proto", package="test", syntax="proto2")
    message = file.message_type.add(name="MessageIdData")
    kinds = {"ledgerId": (1, 4), "entryId": (2, 4), "partition": (3, 5), "batch_index": (4, 5), "batch_size": (6, 5)}
    for name, (number, kind) in kinds.items():
        message.field.add(name=name, number=number, type=kind, label=1)
    message.field.add(name="ack_set", number=5, type=3, label=3)
    message.field.add(name="first_chunk_message_id", number=7, type=11, type_name=".test.MessageIdData", label=1)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("test.MessageIdData"))


TRUTH = Path(__file__).parents[1] / "data" / "backlog" / "expected" / "truth"
Data = _message_class()
CHUNKED = Data(
    ledgerId=24, entryId=3, partition=-1, batch_index=-1,
    first_chunk_message_id=Data(ledgerId=24, entryId=0, partition=-1, batch_index=-1),
).SerializeToString()  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("24:3", MessageId(24, 3)),
        (" 24:3 ", MessageId(24, 3)),  # copied with its spaces
        ("24:3:-1", MessageId(24, 3)),  # Java, no batch, no partition
        ("24:3:2", MessageId(24, 3, 2)),
        ("24:3:2:5", MessageId(24, 3, 2, 5)),
        ("24:0:-1;24:3:-1", MessageId(24, 3, first_chunk=(24, 0))),  # Java's chunked message: first, then last
        ("(24,3,2,5)", MessageId(24, 3, 2, 5)),  # Python
        ("( 24, 3, -1, -1 )", MessageId(24, 3)),
        ("(469,0,-1,-1);(469,2,-1,-1)", MessageId(469, 2, first_chunk=(469, 0))),  # Python's chunked message
        ("(254,0,0,-1);(254,3,0,-1)", MessageId(254, 3, 0, first_chunk=(254, 0))),
        ("( 24, 0, -1, -1 ) ; ( 24, 3, -1, -1 )", MessageId(24, 3, first_chunk=(24, 0))),
        ("256:3:0", MessageId(256, 3, 0)),  # Go, which writes no batch index
        ("256:0:0;256:3:0", MessageId(256, 3, 0, first_chunk=(256, 0))),  # Go's chunked message
    ],
)
def test_printed_ids(text: str, expected: MessageId) -> None:
    assert parse_message_id(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "24", "24:", ":3", "24:-3", "24:3:x", "24:3:-2", "24:3:1:2:3", "(24,3", "24,3)", "24:0;",
        "(24,0,-1,-1);", "(24,0,-1,-1);(24,3", "(24,0);(24,3);(24,4)", "(24:3)", "24,3", "(24,3:-1,0)", ";24:3", "persistent://a/b/c",
        "not an id", "zz", "08", "0818", "!!!!",
        Data(ledgerId=1).SerializeToString().hex(),  # no entry
        CHUNKED[:-1].hex(),  # cut off
    ],
)  # fmt: skip
def test_what_is_no_id_is_one_sentence(text: str) -> None:
    with pytest.raises(UsageError, match="is not a message id"):
        parse_message_id(text)


@pytest.mark.parametrize(
    ("partition", "ledger_id", "entry_id", "batch_index"),
    [(-1, 24, 3, -1), (2, 24, 3, 5), (0, 0, 0, 0), (-1, 2**62, 2**40, -1)],
)
def test_ids_that_the_python_client_serialized(partition: int, ledger_id: int, entry_id: int, batch_index: int) -> None:
    real = pulsar.MessageId(partition, ledger_id, entry_id, batch_index)
    known = tuple(None if value < 0 else value for value in (partition, batch_index))
    expected = MessageId(ledger_id, entry_id, *known)
    for text in (real.serialize().hex(), base64.b64encode(real.serialize()).decode(), str(real)):
        assert parse_message_id(text) == expected


def test_a_serialized_chunked_id_names_its_first_chunk() -> None:
    expected = MessageId(24, 3, first_chunk=(24, 0))
    assert decode_message_id(CHUNKED) == expected
    unpadded = base64.urlsafe_b64encode(CHUNKED).decode().rstrip("=")
    assert parse_message_id(unpadded) == expected


def _printed_ids() -> Iterator[tuple[str, int, int, tuple[int, int] | None]]:
    """Every id that a real reader of Java, Python or Go printed: text, ledger, entry, first chunk."""
    for path in sorted(TRUTH.glob("*reader*.jsonl")):
        for row in map(json.loads, path.read_text().splitlines()):
            one = row["id"]
            if isinstance(one, dict):  # Java
                first = (one["fcl"], one["fce"]) if "fcl" in one else None
                yield one["str"], one["l"], one["e"], first
                continue
            stored = decode_message_id(bytes.fromhex(row["idhex"])) if row.get("idhex") else None
            assert stored is None or (stored.ledger_id, stored.entry_id) == (row["l"], row["e"])
            yield one, row["l"], row["e"], stored.first_chunk if stored else None


def test_every_id_that_a_real_reader_printed_is_read() -> None:
    ids = list(_printed_ids())
    assert sum(";" in text for text, *_ in ids) > 400
    assert sum(text.startswith("(") for text, *_ in ids) > 300
    for text, ledger_id, entry_id, first in ids:
        found = parse_message_id(text)
        assert (found.ledger_id, found.entry_id, found.first_chunk) == (ledger_id, entry_id, first), text


_INT32 = st.integers(-1, 2**31 - 1)


@given(
    st.integers(0, 2**63 - 1),
    st.integers(0, 2**63 - 1),
    _INT32,
    _INT32,
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3),
)
def test_what_protobuf_writes_is_read(
    ledger_id: int, entry_id: int, partition: int, batch: int, acks: list[int]
) -> None:
    data = Data(
        ledgerId=ledger_id, entryId=entry_id, partition=partition, batch_index=batch, ack_set=acks, batch_size=9
    )
    found = decode_message_id(data.SerializeToString())
    assert (found.ledger_id, found.entry_id) == (ledger_id, entry_id)
    assert (found.partition, found.batch_index) == tuple(None if n < 0 else n for n in (partition, batch))


@given(st.binary(max_size=40))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        decode_message_id(data)
