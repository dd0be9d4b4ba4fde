"""LedgerMetadataFormat, as a broker wrote it into an index object and as a damaged or newer one may look."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.wire.ledger_metadata import LedgerMetadata, decode_ledger_metadata

# From the index object of ledger 257 (3 blocks, topic multi-chunk) that a Pulsar 4.0.8 broker offloaded.
FROM_A_BROKER = bytes.fromhex(
    "0801100118d094c40520b5022803320b0a07626b30746573741000380348015"
    "0c79e87ee9f345a360a1570756c7361722f6d616e616765642d6c6564676572121d6c61622f73332f70657273697374656e742f6d756c74"
    "692d6368756e6b5a1b0a09636f6d706f6e656e74120e6d616e616765642d6c65646765725a150a0b6170706c69636174696f6e120670756c"
    "736172"
)
LEAST = bytes.fromhex("0801 1001 1805 2801")  # quorum 1, ensemble 1, length 5, OPEN: what BookKeeper requires


def test_from_a_broker() -> None:
    assert decode_ledger_metadata(FROM_A_BROKER) == LedgerMetadata(
        write_quorum=1,
        ensemble_size=1,
        ack_quorum=1,
        length_bytes=11_602_512,
        last_entry_id=309,
        state="CLOSED",
        digest_type="CRC32C",
        created_ms=1_795_258_699_591,
        custom=(
            ("pulsar/managed-ledger", b"lab/s3/persistent/multi-chunk"),
            ("component", b"managed-ledger"),
            ("application", b"pulsar"),
        ),
    )
    assert decode_ledger_metadata(FROM_A_BROKER).managed_ledger == "lab/s3/persistent/multi-chunk"


def test_what_is_absent_is_none() -> None:
    least = decode_ledger_metadata(LEAST)
    assert (least.last_entry_id, least.ack_quorum, least.digest_type, least.created_ms) == (None,) * 4
    assert (least.state, least.custom, least.managed_ledger) == ("OPEN", (), None)


@pytest.mark.parametrize(
    ("more", "field", "expected"),
    [
        ("20 00", "last_entry_id", 0),  # zero is not absent
        ("20 ffffffffffffffffff01", "last_entry_id", -1),  # an empty ledger
        ("28 09", "state", None),  # states and digests of a newer version
        ("38 09", "digest_type", None),
        ("50 00", "created_ms", 0),
        ("f80601", "length_bytes", 5),  # an unknown field
        ("420473656372", "length_bytes", 5),  # a password is passed over
    ],
)
def test_one_field(more: str, field: str, expected: object) -> None:
    assert getattr(decode_ledger_metadata(LEAST + bytes.fromhex(more)), field) == expected


def test_custom_metadata_that_is_not_utf8() -> None:
    custom = bytes.fromhex("5a05 0a01ff 1200")
    name = b"pulsar/managed-ledger"
    nameless = b"\x5a" + bytes([len(name) + 5]) + b"\x0a" + bytes([len(name)]) + name + b"\x12\x01\xff"
    decoded = decode_ledger_metadata(LEAST + custom + nameless)
    assert decoded.custom[0] == ("\ufffd", b"")
    assert decoded.managed_ledger is None


@pytest.mark.parametrize("missing", [0, 2, 4, 6])
def test_required_fields(missing: int) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_ledger_metadata(LEAST[:missing] + LEAST[missing + 2 :])
    assert caught.value.code == "ledger_metadata_undecodable"
    assert caught.value.expected.startswith("required field")


@given(st.binary(max_size=200) | st.integers(0, len(FROM_A_BROKER)).map(lambda n: FROM_A_BROKER[:n]))
def test_any_bytes_decode_or_are_refused(data: bytes) -> None:
    try:
        decode_ledger_metadata(data)
    except DecodeError as error:
        assert (error.code, error.context) == ("ledger_metadata_undecodable", data[:32])
