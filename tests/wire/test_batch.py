import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire.batch import SingleMessage, read_batch
from pulsar_backlog.wire.codecs import decompress
from pulsar_backlog.wire.proto import pulsar_messages_pb2 as pb
from tests.examples import examples
from tests.wire import golden

CODES = {"batch_bad_count", "batch_member_overruns", "batch_member_undecodable", "batch_trailing_bytes"}
BATCHES = [n for n in golden.ENTRIES if "batch" in n or n in ("raw-nochecksum.14-1.bin",) or "compacted" in n]
OPTIONAL = (
    "partition_key", "compacted_out", "event_time", "partition_key_b64_encoded", "ordering_key", "sequence_id",
    "null_value", "null_partition_key",
)  # fmt: skip


def golden_members(name: str) -> list[SingleMessage]:
    entry, _, payload = golden.read(name)
    metadata = entry.metadata
    batch = decompress(metadata.compression or "NONE", payload, metadata.uncompressed_size or 0, 1 << 20)
    return list(read_batch(batch, metadata.num_messages_in_batch))


# An encoder that shares nothing with the reader, not even protobuf.


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def block(field: int, value: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(value)) + value


def member(payload: bytes, *fields: bytes) -> bytes:
    metadata = b"".join(fields) + number(3, len(payload))
    return len(metadata).to_bytes(4) + metadata + payload


def failure(data: bytes, count: int) -> DecodeError:
    with pytest.raises(DecodeError) as caught:
        list(read_batch(data, count))
    return caught.value


# --- real bytes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in BATCHES if golden.ENTRIES[n]["messages"] is not None])
def test_members_are_what_clients_got(name):
    members = golden_members(name)
    expected = {e["batch_index"]: e for e in golden.ENTRIES[name]["messages"]}
    got = {m.batch_index: m for m in members if not m.compacted_out}
    assert set(expected) == set(got)
    for index, e in expected.items():
        m = got[index]
        assert (m.payload_size, dict(m.properties)) == (e["size"], e["properties"])
        assert (m.event_time or 0) == e["event_time"]
        assert m.partition_key == e["key"]
        if "null" in e:
            assert bool(m.null_value) is e["null"]
            assert m.sequence_id in (e["sequence_id"], None)
        if not e.get("null"):
            assert hashlib.sha256(m.payload).hexdigest() == e["sha256"]


@pytest.mark.parametrize("name", BATCHES)
def test_members_lie_back_to_back(name):
    at = 0
    for index, m in enumerate(golden_members(name)):
        assert (m.batch_index, m.offset) == (index, at)
        at = m.payload_offset + m.payload_size


def test_members_that_compaction_took_out_keep_their_index():
    out = {m.batch_index: bool(m.compacted_out) for m in golden_members("compacted-none.269-4.bin")}
    assert out == {0: True, 1: True, 2: True, 3: False, 4: False, 5: False}
    first = golden_members("compacted-none.269-4.bin")[0]
    assert (first.payload_size, first.payload, first.partition_key) == (0, b"", None)


def test_a_batch_of_one_is_framed():
    (only,) = golden_members("raw-nochecksum.14-1.bin")
    assert (only.batch_index, only.payload) == (0, bytes(golden.read("raw-nochecksum.14-1.bin")[2][-3:]))


def test_the_batch_of_the_format_description():
    data = bytes.fromhex("00000006 12026b311801 61 00000004 18002001 00000002 1803 636363")
    first, out, last = read_batch(data, 3)
    assert (first.partition_key, first.payload, first.compacted_out) == ("k1", b"a", None)
    assert (out.compacted_out, out.payload, out.offset) == (True, b"", 11)
    assert (last.batch_index, last.payload) == (2, b"ccc")


# --- every field ---------------------------------------------------------------------------------------------


def test_absent_fields_are_none():
    (m,) = read_batch(member(b"v"), 1)
    assert m == SingleMessage(0, 0, 6, (), None, 1, None, None, None, None, None, None, None, payload=b"v", flags=())


def test_every_field_as_it_is_on_the_wire():
    data = member(
        b"value",
        block(1, block(1, b"k") + block(2, b"1")),
        block(1, block(1, b"k") + block(2, b"2")),
        block(2, b"a2V5"),
        number(4, 0),
        number(5, 1700000000000),
        number(6, 1),
        block(7, b"\x00\xff"),
        number(8, -1),
        number(9, 1),
        number(10, 0),
    )
    (m,) = read_batch(data, 1)
    assert m == SingleMessage(
        batch_index=0,
        offset=0,
        payload_offset=len(data) - 5,
        properties=(("k", "1"), ("k", "2")),
        partition_key="a2V5",
        payload_size=5,
        compacted_out=False,
        event_time=1700000000000,
        partition_key_b64_encoded=True,
        ordering_key=b"\x00\xff",
        sequence_id=-1,
        null_value=True,
        null_partition_key=False,
        payload=b"value",
        flags=("repeated_property",),
    )


def test_text_that_is_not_utf8_and_unknown_fields_are_flagged():
    (m,) = read_batch(member(b"", block(2, b"\xff")), 1)
    assert (m.partition_key, m.flags) == ("\ufffd", ("text_not_utf8",))
    (m,) = read_batch(member(b"", block(1, block(1, b"k") + block(2, b"\xffv"))), 1)
    assert (m.properties, m.flags) == ((("k", "\ufffdv"),), ("text_not_utf8",))
    (m,) = read_batch(member(b"", number(99, 1)), 1)
    assert m.flags == ("unknown_fields",)
    (m,) = read_batch(member(b"", block(1, block(1, b"k") + block(2, b"v") + number(3, 1))), 1)
    assert m.flags == ("unknown_fields",)


# --- what is broken ------------------------------------------------------------------------------------------


def test_counts_and_sizes_that_do_not_fit():
    first = member(b"abc")  # 4 + 2 + 3 bytes
    cases = [
        (first, -1, "batch_bad_count", 0, "metadata.num_messages_in_batch"),
        (first, 2, "batch_member_overruns", 9, "batch[1].metadata_size"),
        (first, 2_000_000_000, "batch_member_overruns", 9, "batch[1].metadata_size"),
        (first + b"\x00\x00\x00", 2, "batch_member_overruns", 9, "batch[1].metadata_size"),
        (first + b"\xff\xff\xff\xff", 2, "batch_member_overruns", 13, "batch[1].metadata"),
        (first[:-1], 1, "batch_member_overruns", 6, "batch[0].payload"),
        (b"\x00\x00\x00\x0b" + number(3, -1), 1, "batch_member_overruns", 15, "batch[0].payload"),
        (b"\x00\x00\x00\x06" + number(3, 0x7FFFFFFF), 1, "batch_member_overruns", 10, "batch[0].payload"),
        (first + b"x", 1, "batch_trailing_bytes", 9, "batch"),
        (first, 0, "batch_bad_count", 0, "metadata.num_messages_in_batch"),
        (b"", 0, "batch_bad_count", 0, "metadata.num_messages_in_batch"),
        (b"\x00\x00\x00\x00", 1, "batch_member_undecodable", 4, "batch[0].payload_size"),
        (b"\x00\x00\x00\x01\x18", 1, "batch_member_undecodable", 4, "batch[0]"),
        (member(b"", block(1, block(1, b"k"))), 1, "batch_member_undecodable", 4, "batch[0].properties"),
    ]
    for data, count, code, offset, field in cases:
        error = failure(data, count)
        assert (error.code, error.offset, error.field) == (code, offset, field)
        assert error.context == b""


def test_members_before_the_broken_one_are_given_out():
    members = read_batch(member(b"one") + member(b"two") + b"\xff", 3)
    assert [next(members).payload, next(members).payload] == [b"one", b"two"]
    with pytest.raises(DecodeError):
        next(members)


@pytest.mark.parametrize("name", ["java-batch-none.38-1.bin", "go-keybatch-lz4.281-1.bin"])
def test_every_prefix_of_a_real_batch_is_an_error(name):
    entry, _, payload = golden.read(name)
    metadata = entry.metadata
    batch = decompress(metadata.compression or "NONE", payload, metadata.uncompressed_size or 0, 1 << 20)
    for length in range(len(batch)):
        error = failure(batch[:length], metadata.num_messages_in_batch)
        assert error.code in {"batch_member_overruns"}
        assert 0 <= error.offset <= length


def test_every_flipped_bit_of_a_batch_decodes_or_is_an_error():
    data = member(b"abc", block(1, block(1, b"k") + block(2, b"v")), number(8, 300)) + member(b"", number(9, 1))
    decoded = 0
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        try:
            decoded += len(list(read_batch(bytes(flipped), 2))) == 2
        except DecodeError as error:
            assert error.code in CODES
            assert 0 <= error.offset <= len(data)
    assert 0 < decoded < 8 * len(data)


@examples(300)
@given(st.binary(max_size=120), st.integers(-5, 1 << 31))
def test_any_bytes_decode_or_raise_a_decode_error(data, count):
    try:
        members = list(read_batch(data, count))
    except DecodeError as error:
        assert error.code in CODES
    else:
        assert len(members) == count


text = st.text(max_size=8)
metadata = st.fixed_dictionaries(
    {"payload": st.binary(max_size=20), "properties": st.lists(st.tuples(text, text), max_size=3)},
    optional={
        "partition_key": text,
        "compacted_out": st.booleans(),
        "event_time": st.integers(0, (1 << 63) - 1),
        "partition_key_b64_encoded": st.booleans(),
        "ordering_key": st.binary(max_size=8),
        "sequence_id": st.integers(0, (1 << 63) - 1),
        "null_value": st.booleans(),
        "null_partition_key": st.booleans(),
    },
)


@examples(150)
@given(st.lists(metadata, min_size=1, max_size=5))
def test_round_trip_through_generated_classes(messages):
    data = b""
    for m in messages:
        given_fields = {k: v for k, v in m.items() if k in OPTIONAL}
        given_fields = {k: v.encode() if isinstance(v, str) else v for k, v in given_fields.items()}
        smm = pb.SingleMessageMetadata(
            properties=[pb.KeyValue(key=k.encode(), value=v.encode()) for k, v in m["properties"]],
            payload_size=len(m["payload"]),
            **given_fields,
        ).SerializeToString()
        data += len(smm).to_bytes(4) + smm + m["payload"]
    got = list(read_batch(memoryview(data), len(messages)))
    assert [g.payload for g in got] == [m["payload"] for m in messages]
    assert [g.properties for g in got] == [tuple(m["properties"]) for m in messages]
    for g, m in zip(got, messages, strict=True):
        assert {k: getattr(g, k) for k in OPTIONAL} == {k: m.get(k) for k in OPTIONAL}
