import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError as ProtobufError
from hypothesis import example, given
from hypothesis import strategies as st

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire.fields import MAX_DEPTH, FieldSpan, walk_fields
from pulsar_backlog.wire.proto import pulsar_messages_pb2 as pb
from tests.examples import examples
from tests.wire import golden

METADATA = pb.MessageMetadata.DESCRIPTOR


def all_kinds() -> type:
    """A message class with every kind of field: singular 1.., repeated 31.., packed 61.., itself 90, group 91."""
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="all_kinds.proto", package="test", syntax="proto2")
    message = file.message_type.add(name="AllKinds")
    scalars = [kind for kind in field.Type.values() if kind not in (field.TYPE_GROUP, field.TYPE_MESSAGE)]
    enum = file.enum_type.add(name="Colour")
    enum.value.add(name="RED", number=0)
    for base, label, packed in ((0, 1, None), (30, 3, False), (60, 3, True)):
        for kind in scalars:
            if kind in (field.TYPE_STRING, field.TYPE_BYTES) and packed:
                continue
            f = message.field.add(name=f"f{base + kind}", number=base + kind, type=kind, label=label)
            if kind == field.TYPE_ENUM:
                # Open values would go to unknown fields in proto2; int32 has the same bits.
                f.type = field.TYPE_INT32
            if packed is not None and kind not in (field.TYPE_STRING, field.TYPE_BYTES):
                f.options.packed = packed
    message.field.add(name="self", number=90, type=field.TYPE_MESSAGE, label=3, type_name=".test.AllKinds")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("test.AllKinds"))


AllKinds = all_kinds()


def varint(value: int, pad: int = 0) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    for _ in range(pad):
        out[-1] |= 0x80
        out.append(0)
    return bytes(out)


def tag(number: int, wire_type: int) -> bytes:
    return varint(number << 3 | wire_type)


numbers = st.one_of(st.integers(1, 95), st.sampled_from([536870911, 536870912, 1000]))
varints = st.builds(varint, st.one_of(st.integers(0, 300), st.integers(0, (1 << 64) - 1)), st.integers(0, 3))


def blocks(content):
    return st.builds(lambda n, c: tag(n, 2) + varint(len(c)) + c, numbers, content)


def groups(content):
    return st.builds(lambda n, c: tag(n, 3) + c + tag(n, 4), numbers, content)


scalar_fields = st.one_of(
    st.builds(lambda n, v: tag(n, 0) + v, numbers, varints),
    st.builds(lambda n, v: tag(n, 1) + v, numbers, st.binary(min_size=8, max_size=8)),
    st.builds(lambda n, v: tag(n, 5) + v, numbers, st.binary(min_size=4, max_size=4)),
    blocks(st.binary(max_size=12)),
    blocks(st.lists(varints, max_size=3).map(b"".join)),
    st.builds(lambda c: tag(90, 2) + varint(len(c)) + c, st.binary(max_size=12)),
)
messages = st.recursive(
    st.lists(scalar_fields, max_size=4).map(b"".join),
    lambda inner: st.lists(
        st.one_of(groups(inner), blocks(inner), inner.map(lambda c: tag(90, 2) + varint(len(c)) + c)), max_size=3
    ).map(b"".join),
    max_leaves=6,
)
damaged = st.builds(
    lambda data, at, byte: data[: at % (len(data) + 1)] + byte + data[at % (len(data) + 1) + 1 :],
    messages,
    st.integers(0, 200),
    st.binary(max_size=2),
)


def by_protobuf(data: bytes, cls: type):
    message = cls()
    try:
        message.MergeFromString(data)
    except ProtobufError:
        return None
    return message


def check_tiling(spans: tuple[FieldSpan, ...], start: int, end: int) -> None:
    """Fields lie back to back, and children lie within their parent."""
    at = start
    for span in spans:
        assert span.start == at < span.end
        at = span.end
        if span.children:
            assert span.start < span.children[0].start
            inner_end = span.children[-1].end
            assert inner_end == span.end if span.wire_type == 2 else inner_end < span.end
            check_tiling(span.children, span.children[0].start, inner_end)
    assert at == end


def check_values(spans: tuple[FieldSpan, ...], message) -> None:
    """What protobuf keeps of a message is what the spans say: the last value, or all values."""
    seen: dict[str, list] = {}
    for span in spans:
        if span.name is None:
            continue
        one = (
            span.value
            if isinstance(span.value, tuple)
            else (span,)
            if span.children or span.value is None
            else (span.value,)
        )
        seen.setdefault(span.name, []).extend(one)
    for field in message.DESCRIPTOR.fields:
        got = seen.get(field.name, [])
        if field.message_type is not None:
            children = getattr(message, field.name)
            assert len(children) == len(got)
            for child, span in zip(children, got, strict=True):
                check_values(span.children, child)
        elif field.is_repeated:
            assert repr([v.encode() if isinstance(v, str) else v for v in getattr(message, field.name)]) == repr(got)
        elif message.HasField(field.name):
            value = getattr(message, field.name)
            assert repr(value.encode() if isinstance(value, str) else value) == repr(got[-1])
        else:
            assert got == []


# --- real bytes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["java-chunks-zstd.296-1.bin", "python-batch-zlib.178-0.bin", "marker-txn.85-10.bin"])
def test_fields_of_a_real_entry_lie_where_its_metadata_lies(name):
    entry, data, _ = golden.read(name)
    layout = entry.layout
    spans = walk_fields(data, METADATA, start=layout.metadata_offset, end=layout.payload_offset)
    check_tiling(spans, layout.metadata_offset, layout.payload_offset)
    check_values(spans, pb.MessageMetadata.FromString(data[layout.metadata_offset : layout.payload_offset]))
    assert all(span.name for span in spans)
    broker = walk_fields(
        data, pb.BrokerEntryMetadata.DESCRIPTOR, start=layout.broker_offset, end=layout.checksum_offset - 2
    )
    assert {span.name: span.value for span in broker} == {
        "broker_timestamp": entry.broker.broker_timestamp,
        "index": entry.broker.index,
    }


def test_the_metadata_of_the_format_description():
    data = bytes.fromhex("0e01 16f2f2f7 00000008 0a0170 1000 18e807 6869")
    assert walk_fields(memoryview(data), METADATA, start=10, end=18) == (
        FieldSpan(10, 13, 1, "producer_name", 2, b"p"),
        FieldSpan(13, 15, 2, "sequence_id", 0, 0),
        FieldSpan(15, 18, 3, "publish_time", 0, 1000),
    )


# --- kinds of fields -----------------------------------------------------------------------------------------


def test_nested_messages_have_children():
    data = tag(4, 2) + varint(6) + b"\x0a\x01k\x12\x01v"
    (span,) = walk_fields(data, METADATA)
    assert span == FieldSpan(
        0, 8, 4, "properties", 2, None, (FieldSpan(2, 5, 1, "key", 2, b"k"), FieldSpan(5, 8, 2, "value", 2, b"v"))
    )


def test_signs_and_booleans_follow_the_declared_type():
    data = tag(11, 0) + varint(-1) + tag(2, 0) + varint(-1) + tag(17, 0) + varint(2)
    assert [s.value for s in walk_fields(data, METADATA)] == [-1, (1 << 64) - 1, True]


def test_numbers_come_packed_or_one_by_one():
    one_by_one = tag(31, 0) + b"\x01" + tag(31, 0) + b"\x02"
    assert [s.value for s in walk_fields(one_by_one, METADATA)] == [1, 2]
    assert [s.value for s in walk_fields(tag(31, 2) + b"\x02\x01\x02", METADATA)] == [(1, 2)]


def test_unknown_fields_keep_their_bytes():
    data = tag(99, 0) + b"\x05" + tag(10, 2) + b"\x02ab" + tag(77, 3) + tag(1, 0) + b"\x07" + tag(77, 4)
    first, second, group = walk_fields(data, METADATA)
    assert (first.name, first.number, first.value) == (None, 99, 5)
    assert (second.name, second.number, second.value) == (None, 10, b"ab")
    assert (group.name, group.number, group.wire_type, group.end) == (None, 77, 3, len(data))
    assert [(c.number, c.name, c.value) for c in group.children] == [(1, None, 7)]


def test_a_known_number_with_another_wire_type_is_unknown():
    (span,) = walk_fields(tag(1, 0) + b"\x05", METADATA)  # producer_name is text
    assert (span.number, span.name, span.value) == (1, None, 5)
    (span,) = walk_fields(tag(2, 2) + b"\x01\x05", METADATA)  # sequence_id is not repeated, so not packed
    assert (span.number, span.name, span.value) == (2, None, b"\x05")


def test_no_bytes_no_fields():
    assert walk_fields(b"", METADATA) == ()


# --- what is broken ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (b"\x10\x00" + b"\x80", 2),  # a tag that does not end
        (b"\x10" + b"\xff" * 10 + b"\x01", 1),  # a varint of 11 bytes
        (b"\x10", 1),  # no value
        (b"\x00\x01", 0),  # field number 0
        (b"\x16", 0),  # wire type 6
        (b"\x0a\x05abc", 1),  # a length over the end
        (b"\x0a\xff\xff\xff\xff\x0f", 1),  # a hostile length
        (b"\x0a\x81\x80\x80\x80\x80\x00a", 1),  # a length of 6 bytes
        (tag(99, 1) + bytes(7), 2),  # 7 of 8 bytes
        (tag(99, 5) + bytes(3), 2),
        (tag(77, 3) + tag(78, 4), 2),  # another group's end
        (tag(77, 3), 2),  # a group without end
        (tag(77, 4), 0),  # an end without group
        (tag(4, 2) + b"\x02\x0a\x05", 3),  # a child's length over its parent's end
    ],
)
def test_what_is_malformed_is_refused_where_it_is(data, offset):
    assert by_protobuf(data, pb.MessageMetadata) is None
    with pytest.raises(DecodeError) as caught:
        walk_fields(b"--" + data + bytes(20), METADATA, start=2, end=2 + len(data), code="batch_member_undecodable")
    assert (caught.value.code, caught.value.offset) == ("batch_member_undecodable", 2 + offset)
    assert caught.value.context == b""


@pytest.mark.parametrize(("depth", "readable"), [(MAX_DEPTH - 5, True), (MAX_DEPTH + 5, False), (5000, False)])
def test_depth_is_bounded_as_in_protobuf(depth, readable):
    groups = tag(77, 3) * depth + tag(77, 4) * depth
    message = b""
    for _ in range(depth):
        message = tag(90, 2) + varint(len(message)) + message
    for data in (groups, message):
        assert (by_protobuf(data, AllKinds) is not None) is readable
        if readable:
            assert len(walk_fields(data, AllKinds.DESCRIPTOR)) == 1
        else:
            with pytest.raises(DecodeError, match="messages within messages"):
                walk_fields(data, AllKinds.DESCRIPTOR)


@examples(600)
@given(st.one_of(messages, damaged, st.binary(max_size=40)))
@example(tag(90, 2) + b"\x00")
@example(tag(61, 2) + b"\x07" + bytes(7))
@example(tag(4, 0) + b"\xff" * 9 + b"\x7f")
@example(tag(13, 0) + varint(-2))
@example(tag(17, 0) + varint(-2))
@example(tag(1, 3) + tag(0, 0) + b"\x00" + tag(0, 3) + tag(0, 4) + tag(1, 4))
@example(b"\x90\x80\x80\x80\x80\x00\x01")
@example(b"\x90\x80\x80\x80\x10\x01")
def test_reads_what_protobuf_reads_and_refuses_what_it_refuses(data):
    message = by_protobuf(data, AllKinds)
    try:
        spans = walk_fields(data, AllKinds.DESCRIPTOR)
    except DecodeError as error:
        assert message is None, f"protobuf reads it, we say: {error}"
        assert 0 <= error.offset <= len(data)
    else:
        assert message is not None, "protobuf refuses it"
        check_tiling(spans, 0, len(data))
        check_values(spans, message)


@examples(300)
@given(st.one_of(messages, st.binary(max_size=60)))
def test_agrees_with_protobuf_on_metadata(data):
    message = by_protobuf(data, pb.MessageMetadata)
    try:
        spans = walk_fields(data, METADATA)
    except DecodeError:
        assert message is None
    else:
        assert message is not None
        check_values(spans, message)
