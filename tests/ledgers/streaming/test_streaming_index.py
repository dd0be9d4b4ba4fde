"""Indexes of streaming offload: what they say, and what lies in them."""

from __future__ import annotations

import struct

import pytest

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.ledgers.streaming.index import MAX_BLOCKS, decode_streaming_index
from tests.ledgers.streaming.encoding import index, indexed, info

DATA_BYTES = 900
TWO = index(
    [indexed(5, info(5, 9, 77), [(4, 1, 0), (7, 3, 500)]), indexed(6, info(6, 2, None), [(0, 2, 300)])], DATA_BYTES
)


def one(ledger: bytes) -> bytes:
    return index([ledger], DATA_BYTES)


def test_two_ledgers_share_an_object() -> None:
    found = decode_streaming_index(TWO)
    five, six = found.ledgers
    assert (five.ledger_id, five.entries, five.size_bytes, five.blocks) == (5, 9, 77, {0: 4, 500: 7})
    assert (six.ledger_id, six.entries, six.size_bytes, six.blocks) == (6, 2, None, {300: 0})
    assert found.blocks() == {0: (5, 4), 500: (5, 7), 300: (6, 0)}


def test_every_cut_is_refused() -> None:
    for end in range(len(TWO)):
        with pytest.raises(DecodeError) as caught:
            decode_streaming_index(TWO[:end])
        assert caught.value.code in ("index_too_short", "index_bad_length")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (index([], DATA_BYTES, magic=0xDE47DE47), "index_bad_magic"),  # that of the object-store offloader
        (index([], DATA_BYTES, header_bytes=64), "index_bad_length"),
        (index([], -1), "index_bad_length"),
        (one(indexed(-1, info(1, 1, None), [(0, 1, 0)])), "index_bad_length"),
        (one(indexed(5, info(5, 9, 77), [(0, 1, DATA_BYTES)])), "index_bad_length"),  # behind the data
        (one(indexed(5, info(5, 9, 77), [(-1, 1, 0)])), "index_bad_length"),
        (one(struct.pack(">qii", 5, 2**31 - 1, 0)), "index_bad_length"),  # more blocks than there are bytes
        (one(struct.pack(">qii", 5, 0, 2) + info(5, 0, None)[:2]), "index_bad_length"),  # a ledger without blocks
        (one(indexed(5, info(5, 9, 77), [(0, 1, 0)] * (MAX_BLOCKS + 1))), "index_bad_length"),
        (one(indexed(6, info(5, 9, 77), [(0, 1, 0)])), "index_bad_ledger"),
        (one(indexed(5, b"\x08\xff", [(0, 1, 0)])), "ledger_metadata_undecodable"),
    ],
)
def test_what_lies(data: bytes, code: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_streaming_index(data)
    assert caught.value.code == code
