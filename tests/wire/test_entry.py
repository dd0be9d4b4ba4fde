"""One entry: documented vectors, every optional part, and every way to damage it."""

import pytest
from encode import REQUIRED, entry, number, pair, run

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire.entry import MAX_METADATA_BYTES, decode_entry, read_layout
from pulsar_backlog.wire.rejects import ENTRY_CODES

# The documented vector: producer "p", sequence 0, publish time 1000, payload "hi".
VECTOR = bytes.fromhex("0e0116f2f2f7000000080a0170100018e8076869")
BROKER = bytes.fromhex("0e020000000508e8071009")


def test_the_documented_vector_decodes() -> None:
    found = decode_entry(VECTOR)
    assert (found.metadata.producer_name, found.metadata.sequence_id, found.metadata.publish_time) == ("p", 0, 1000)
    assert found.checksum_state == "valid"
    assert VECTOR[found.layout.payload_offset :] == b"hi"
    assert found.broker is None


def test_broker_metadata_stands_before_the_checksum() -> None:
    found = decode_entry(BROKER + VECTOR)
    assert found.broker is not None
    assert (found.broker.broker_timestamp, found.broker.index) == (1000, 9)
    assert found.checksum_state == "valid"  # the CRC does not cover part A


def test_absent_is_none_and_not_a_default() -> None:
    found = decode_entry(VECTOR).metadata
    assert found.compression is None
    assert found.num_messages_in_batch is None
    assert found.properties is None
    assert found.event_time is None


def test_an_entry_without_checksum_is_read_and_said_to_have_none() -> None:
    found = decode_entry(entry(checksum=False))
    assert (found.checksum_state, found.layout.checksum) == ("absent", None)


def test_an_empty_broker_metadata_is_broker_metadata() -> None:
    found = decode_entry(entry(broker=b""))
    assert found.broker is not None
    assert found.broker.broker_timestamp is None


def test_the_sequence_id_of_a_marker_is_minus_one() -> None:
    metadata = run(1, b"pulsar.txn.marker") + number(2, -1) + number(3, 1) + number(20, 21)
    assert decode_entry(entry(metadata)).metadata.sequence_id == -1


@pytest.mark.parametrize(
    ("more", "flag"),
    [
        (number(21, 5), "unknown_fields"),  # a field of a newer version
        (run(4, run(1, b"k") + run(2, b"v") + number(9, 1)), "unknown_fields"),  # ... within a property
        (number(12, 1 << 60), "time_out_of_range"),
        (number(19, -5), "time_out_of_range"),
        (run(6, b"\xff\xfe"), "text_not_utf8"),
        (pair(b"k", b"1") + pair(b"k", b"2"), "repeated_property"),
        (number(8, 9), "unknown_compression"),
    ],
)
def test_odd_but_readable_is_flagged(more: bytes, flag: str) -> None:
    assert decode_entry(entry(REQUIRED + more)).flags == (flag,)


def test_of_a_repeated_property_the_last_value_counts() -> None:
    found = decode_entry(entry(REQUIRED + pair(b"k", b"1") + pair(b"k", b"2")))
    assert found.metadata.properties == {"k": "2"}


@pytest.mark.parametrize(
    ("data", "code", "offset"),
    [
        (b"", "entry_too_short", 0),
        (b"\x0e", "entry_too_short", 0),
        (b"\x0e\x02\x00\x00", "entry_too_short", 2),
        (b"\x0e\x02\x7f\xff\xff\xff\x00", "broker_metadata_overruns", 2),
        (b"\x0e\x02\xff\xff\xff\xff\x00", "broker_metadata_overruns", 2),  # a negative size
        (b"\x0e\x02\x00\x00\x00\x01\xff" + VECTOR, "broker_metadata_undecodable", 6),
        (VECTOR[:8], "entry_too_short", 6),
        (b"\x00\x00\x00\x09" + b"\x0a\x01p", "metadata_overruns", 0),
        (b"\xff\xff\xff\xff" + b"\x0a\x01p", "metadata_overruns", 0),
        (entry(b"\x0a\x7fp"), "metadata_undecodable", 10),
        (entry(run(1, b"p") + number(2, 0)), "metadata_incomplete", 10),
        (entry(REQUIRED + run(4, run(1, b"key without value"))), "metadata_incomplete", 10),
    ],
)
def test_broken_entries_say_what_and_where(data: bytes, code: str, offset: int) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_entry(data)
    assert (caught.value.code, caught.value.offset) == (code, offset)
    assert len(caught.value.context) <= 32


def states(data: bytes) -> str:
    """`reject`, `flag` or `clean`: what a reader of the tables sees."""
    try:
        found = decode_entry(data)
    except DecodeError as error:
        assert error.code in ENTRY_CODES
        return "reject"
    return "flag" if found.checksum_state != "valid" or found.flags else "clean"


RICH = entry(
    REQUIRED + pair(b"k", b"v") + number(9, 40) + run(26, b"p-0") + number(27, 2) + number(28, 40) + number(29, 1),
    b"x" * 40,
    broker=number(1, 1_700_000_000_000) + number(2, 7),
)


@pytest.mark.parametrize("data", [VECTOR, RICH], ids=["plain", "chunk with broker metadata"])
def test_every_strict_prefix_is_rejected_or_flagged(data: bytes) -> None:
    assert states(data) == "clean"
    assert [n for n in range(len(data)) if states(data[:n]) == "clean"] == []


@pytest.mark.parametrize("data", [VECTOR, RICH], ids=["plain", "chunk with broker metadata"])
def test_every_flipped_bit_that_the_checksum_covers_is_rejected_or_flagged(data: bytes) -> None:
    layout = read_layout(data)
    assert layout.checksum_offset is not None
    clean = []
    for bit in range((layout.checksum_offset - 2) * 8, len(data) * 8):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        if states(bytes(flipped)) == "clean":
            clean.append(bit)
    assert clean == []


@pytest.mark.parametrize("where", ["broker", "message"])
def test_metadata_that_no_broker_would_have_taken_is_rejected(where: str) -> None:
    """Just as much as is read, and one byte more."""
    for size, taken in ((MAX_METADATA_BYTES, True), (MAX_METADATA_BYTES + 1, False)):
        head = REQUIRED if where == "message" else number(1, 5)
        filler = run(15, bytes(size - len(head) - 5))
        data = entry(head + filler) if where == "message" else entry(broker=head + filler)
        if taken:
            assert len(data) > size
            assert read_layout(data).metadata_length in (size, len(REQUIRED))
            continue
        with pytest.raises(DecodeError) as raised:
            read_layout(data)
        assert (raised.value.code, raised.value.found) == ("metadata_too_large", str(size))
