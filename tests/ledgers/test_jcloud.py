"""Index objects and block headers by the format's own vectors."""

import tracemalloc

from pulsar_backlog.ledgers.jcloud import (
    BlockHeader,
    IndexEntry,
    check_block_header,
    decode_block_header,
    decode_index,
)
from pulsar_backlog.ledgers.values import Block

# Written out by hand from the format: 64 MiB block from entry 0; index of a ledger of 3 entries in one block.
HEADER = bytes.fromhex("fbdbabcb 0000000000000080 0000000004000000 0000000000000000") + bytes(100)
INDEX = bytes.fromhex(
    "de47de47 00000045 000000000000008e 0000000000000080 00000001 00000011"
    "0802100218022000280338034802 50e807"
    "0000000000000000 00000001 0000000000000000"
)


def test_block_header() -> None:
    assert decode_block_header(HEADER) == BlockHeader(0xFBDBABCB, 128, 64 * 1024 * 1024, 0)
    assert check_block_header(HEADER, Block(0, 64 * 1024 * 1024, 0, None)) == ()
    assert decode_block_header(HEADER[:-1]) is None


def test_index() -> None:
    index, faults = decode_index(INDEX)
    assert faults == ()
    assert index is not None
    assert (index.index_length, index.data_length, index.header_length) == (69, 142, 128)
    assert index.entries == (IndexEntry(0, 1, 0),)
    assert index.metadata is not None
    assert (index.metadata.length_bytes, index.metadata.last_entry_id, index.metadata.created_ms) == (2, 0, 1000)


def test_a_fault_says_where() -> None:
    _, [fault] = decode_index(INDEX[:16] + b"\0\0\0\0\0\0\0\x7f" + INDEX[24:])
    assert (fault.code, fault.offset, fault.field) == ("index_bad_length", 16, "index.header_length")
    assert (fault.expected, fault.found, fault.length) == ("128", "127", len(INDEX))
    assert fault.first_bytes == INDEX[16:23] + b"\x7f" + INDEX[24:48]


def test_hostile_counts_allocate_nothing() -> None:
    tracemalloc.start()
    try:
        for count, metadata_length in ((2**31 - 1, 17), (1, 2**31 - 1), (2**31 - 1, 2**31 - 1)):
            hostile = INDEX[:24] + count.to_bytes(4, "big") + metadata_length.to_bytes(4, "big") + INDEX[32:]
            assert decode_index(hostile)[0] is None
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
