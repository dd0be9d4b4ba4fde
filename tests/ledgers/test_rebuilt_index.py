"""An index made again from its data object: what the offloader wrote, byte for byte as far as the data tell."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from pulsar_backlog.cluster.values import LedgerRecord
from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.chain import read_chain
from pulsar_backlog.ledgers.copies import Pair
from pulsar_backlog.ledgers.jcloud import decode_index, encode_index
from pulsar_backlog.ledgers.listing import take_listing
from pulsar_backlog.ledgers.rebuilt_index import RebuiltIndex, rebuild_index
from pulsar_backlog.ledgers.store import open_source
from tests.auditing import OBJECTS
from tests.ledgers.encoding import MANAGED_LEDGER, UUID, offload

BODIES = [bytes([number]) * (40 + 7 * number) for number in range(30)]
MANY = offload(BODIES, block_bytes=512)
"""In several blocks, with padding."""
REAL = sorted(OBJECTS.glob("*-index"))


def real_pair(index: Path) -> Pair:
    return next(
        pair for pair in take_listing(open_source(str(OBJECTS))).pairs if pair.index and pair.index.path == index.name
    )


def rebuilt(
    folder: Path, data: bytes, broker: LedgerRecord | None = None, topic: str | None = MANAGED_LEDGER
) -> RebuiltIndex:
    (folder / f"{UUID}-ledger-7").write_bytes(data)
    source = open_source(str(folder))
    (pair,) = take_listing(source).pairs
    return rebuild_index(source, pair, topic, broker)


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name.split("-ledger-")[1])
def test_the_bytes_of_a_broker(path: Path) -> None:
    """What surrounds the ledger metadata, byte for byte; of the metadata all that data and bucket hold."""
    real, source, pair = path.read_bytes(), open_source(str(OBJECTS)), real_pair(path)
    (size,) = struct.unpack_from(">i", real, 28)
    assert pair.data is not None
    blocks = read_chain(source, pair.data).blocks
    assert encode_index(real[32 : 32 + size], pair.data.size, blocks) == real
    theirs, _ = decode_index(real)
    assert theirs is not None and theirs.metadata is not None
    made = rebuild_index(source, replace(pair, index=None), theirs.metadata.managed_ledger, None)
    ours, faults = decode_index(made.body)
    assert ours is not None and ours.metadata is not None and not faults
    assert ours.entries == theirs.entries
    assert (ours.data_length, ours.header_length) == (theirs.data_length, theirs.header_length)
    assert replace(ours.metadata, created_ms=None, custom=()) == replace(theirs.metadata, created_ms=None, custom=())
    assert dict(ours.metadata.custom) == dict(theirs.metadata.custom)


def test_several_blocks(tmp_path: Path) -> None:
    made = rebuilt(tmp_path, MANY.data)
    assert (made.places, made.entries, made.entry_bytes) == (len(MANY.offsets), 30, sum(map(len, BODIES)))
    assert len(MANY.offsets) > 3
    index, _ = decode_index(made.body)
    assert index is not None
    assert [(one.first_entry_id, one.offset) for one in index.entries] == list(
        zip(MANY.first_ids, MANY.offsets, strict=True)
    )
    assert [one.part_id for one in index.entries] == list(range(1, len(MANY.offsets) + 1))


def broker(**said: object) -> LedgerRecord:
    return replace(LedgerRecord(7, "persistent://tenant/space/topic", None, None, None, None, None), **said)  # type: ignore[arg-type]


def test_what_it_could_not_know(tmp_path: Path) -> None:
    words = rebuilt(tmp_path, MANY.data, topic=None).unknown
    assert [word.split(":")[0].split(",")[0] for word in words] == [
        "which topic the ledger belongs to", "how many entries the ledger had", "when the ledger was created",
        "its bookies",
    ]  # fmt: skip
    known = rebuilt(tmp_path, MANY.data, broker(entries=30, size_bytes=sum(map(len, BODIES)))).unknown
    assert [word.split(":")[0].split(",")[0] for word in known] == ["when the ledger was created", "its bookies"]


def flipped(at: int) -> bytes:
    return MANY.data[:at] + bytes([MANY.data[at] ^ 1]) + MANY.data[at + 1 :]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "it is empty"),
        (MANY.data[:-1], "block_bad_length"),  # cut inside the last block
        (MANY.data[:100], "bytes_after_last_block"),
        (flipped(0), "block_bad_magic"),
        (flipped(MANY.offsets[1] + 27), "block_entry_count"),  # one entry too many before the block
        (flipped(MANY.offsets[1] - 1), "padding_bad"),
        (flipped(128 + 11), "entry_id_out_of_order"),
        (flipped(MANY.offsets[-1] + 131), "padding_bad"),  # a length
        (MANY.data[MANY.offsets[1] :], "bytes_after_last_block"),  # its beginning is gone
        (offload([], block_bytes=512).data + struct.pack(">Iqqq", 0xFBDBABCB, 128, 128, 0) + bytes(100), "no entry"),
    ],
)
def test_damaged_data_get_no_index(tmp_path: Path, data: bytes, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        rebuilt(tmp_path, data)


def test_what_the_broker_recorded_must_be_there(tmp_path: Path) -> None:
    """Whole blocks lost at the end look like a shorter ledger: only the broker's count tells."""
    short = MANY.data[: MANY.offsets[-1]]
    assert rebuilt(tmp_path, short).entries == MANY.first_ids[-1]
    with pytest.raises(SourceError, match="the broker records 30 entries"):
        rebuilt(tmp_path, short, broker(entries=30))
    with pytest.raises(SourceError, match="the broker records 1 bytes"):
        rebuilt(tmp_path, MANY.data, broker(entries=30, size_bytes=1))
