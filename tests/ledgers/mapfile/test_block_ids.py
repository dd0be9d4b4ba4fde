"""Damage in a block: no entry that passes its own checksum stands under another one's id; one reject tells the rest."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import numpy as np
import pytest

from pulsar_backlog.errors import DecodeError
from pulsar_backlog.ledgers.mapfile import blocks
from pulsar_backlog.ledgers.mapfile.block_ids import first_id
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.wire.entry import decode_entry
from tests.ledgers.mapfile.encoding import CODECS, MapFile, Style, compressed, map_file, put_map_file, value, vint
from tests.ledgers.sources import Seen, see
from tests.memory import with_peak_bytes
from tests.scanning.scans import scanned
from tests.wire.encode import entry

SEEDED = random.Random(31)
COMMON = SEEDED.randbytes(60)
ALIKE = tuple(entry(payload=COMMON * 3 + b"%06d" % number) for number in range(300))
"""Entries of one length, of which codecs copy most from those before."""
VARIED = tuple(
    entry(payload=COMMON * SEEDED.randrange(1, 6) + SEEDED.randbytes(SEEDED.randrange(40))) for _ in range(300)
)
SMALL = {"block_bytes": 20_000, "sync_interval": 21_000, "piece_bytes": 8_000}


def seen(folder: Path, stored: MapFile, data: bytes) -> Seen:
    put_map_file(folder, stored.with_data(data), checksums=False)
    return see(folder)


def flipped(data: bytes, at: int, by: int) -> bytes:
    changed = bytearray(data)
    changed[at] ^= by
    return bytes(changed)


def is_whole(body: bytes) -> bool:
    try:
        return decode_entry(body).checksum_state == "valid"
    except DecodeError:
        return False


@pytest.mark.parametrize("bodies", [ALIKE, VARIED], ids=["alike", "varied"])
@pytest.mark.parametrize("codec", CODECS)
def test_flips_give_no_entry_anothers_id(codec: str, bodies: tuple[bytes, ...], tmp_path: Path) -> None:
    seeded = random.Random(codec)
    stored = map_file(bodies, Style("BLOCK", codec, **SMALL))  # type: ignore[arg-type]
    for _ in range(40):
        at, by = seeded.randrange(stored.header, len(stored.data)), seeded.randrange(1, 256)
        found = seen(tmp_path, stored, flipped(stored.data, at, by))
        entries = dict(found.entries[7])
        assert entries.keys() <= set(range(len(bodies)))
        assert [(i, at, by) for i, body in entries.items() if body != bodies[i] and is_whole(body)] == []
        assert len(entries) == len(bodies) or found.faults[7]
        assert len(found.faults[7]) <= 8


@pytest.mark.parametrize("codec", CODECS)
def test_one_reject_for_the_rest_of_a_block(codec: str, tmp_path: Path) -> None:
    stored = map_file(ALIKE, Style("BLOCK", codec))  # one block
    at = len(stored.data) - len(compressed(b"".join(map(value, ALIKE)), Style("BLOCK", codec))) // 2
    put_map_file(tmp_path, stored.with_data(flipped(stored.data, at, 0x55)), checksums=False)
    rows, rejects, account = scanned(open_source(str(tmp_path)))
    ids = [row["entry_id"] for row in rows.get(7, []) if row["checksum_state"] == "valid"]
    assert all(row["checksum_state"] in ("valid", "mismatch") for row in rows.get(7, []))
    assert account.frames == account.decoded + account.rejected
    told = [one for one in rejects if one["code"] == "block_records_lost"]
    if len(ids) < len(ALIKE) and told:
        (one,) = told
        count = len(ALIKE) - len(ids)
        assert ids == list(range(len(ids)))
        assert one["expected"] == f"{count} entries from {len(ids)} on"
    assert len(rejects) < 10


def block(keys: bytes, bodies: list[bytes], style: Style, *, count: int | None = None) -> bytes:
    """A block with keys of one's own."""
    parts = (b"".join(vint(8) for _ in bodies), keys, b"".join(vint(len(value(one))) for one in bodies),
             b"".join(map(value, bodies)))  # fmt: skip
    packed = (compressed(part, style) for part in parts)
    head = b"\xff" * 4 + style.sync + vint(len(bodies) if count is None else count)
    return head + b"".join(vint(len(part)) + part for part in packed)


def keys_of(ids: list[int]) -> bytes:
    return b"".join(struct.pack(">q", number) for number in ids)


@pytest.mark.parametrize("codec", ["SnappyCodec", "Lz4Codec", "ZStandardCodec"])
@pytest.mark.parametrize(
    "keys",
    [
        [20, 21, 22, 23, 280],  # the last one, behind which none speaks against it
        [20, 21, 278, 279, 280],  # a codec copied the damaged byte into all that follow
        [276, 277, 278, 279, 280],
        [20, 20, 20, 20, 20],
    ],
)
def test_keys_that_contradict_each_other_or_their_place(keys: list[int], codec: str, tmp_path: Path) -> None:
    style = Style("BLOCK", codec, block_bytes=2000)
    stored = map_file(ALIKE[:20], style)
    middle = block(keys_of(keys), list(ALIKE[20:25]), style)
    behind = block(keys_of(list(range(25, 30))), list(ALIKE[25:30]), style)
    found = seen(tmp_path, stored, stored.data + middle + behind)
    assert found.entries[7] == list(enumerate(ALIKE[:30]))  # both neighbours tell the place
    assert "entry_id_out_of_order" in found.fault_codes()


@pytest.mark.parametrize(
    ("keys", "count", "place", "following", "first"),
    [
        ([5, 6, 7], 3, 5, None, 5),
        ([5, 6, 7], 3, None, None, 5),  # behind a gap
        ([9, 10, 11], 3, 5, 12, 9),  # entries that were never written
        ([9, 10, 11], 3, 5, 8, 5),
        ([9, 10, 11], 3, 5, None, None),  # keys against place, and nobody decides
        ([5, 9, 7], 3, 5, None, 5),
        ([5, 9, 7], 3, None, None, None),
        ([5, 9, 7], 3, None, 8, 5),
        ([5, 9, 7], 3, 5, 20, None),
        (None, 3, 5, 8, 5),
        (None, 3, None, 8, 5),
        (None, 3, None, None, None),
    ],
)
def test_two_witnesses(
    keys: list[int] | None, count: int, place: int | None, following: int | None, first: int | None
) -> None:
    assert first_id(None if keys is None else np.array(keys), count, place, following) == first


def test_entries_without_a_checksum_are_proved_by_that_of_the_codec_alone(tmp_path: Path) -> None:
    bare = [entry(payload=COMMON + b"%04d" % number, checksum=False) for number in range(40)]
    for codec in CODECS:
        style = Style("BLOCK", codec)
        stored = map_file(bare, style)
        assert seen(tmp_path, stored, stored.data).entries[7] == list(enumerate(bare))
        found = seen(tmp_path, stored, flipped(stored.data, len(stored.data) - 30, 0x40))
        assert [i for i, body in found.entries[7] if body != bare[i]] == [] or codec in ("SnappyCodec", "Lz4Codec")


def test_the_count_of_a_block_costs_no_memory(tmp_path: Path) -> None:
    style = Style("BLOCK")
    stored = map_file(ALIKE[:5], style)
    lying = block(keys_of(list(range(5, 8))), list(ALIKE[5:8]), style, count=blocks.MAX_RECORDS)
    seen(tmp_path, stored, stored.data + lying)
    found, peak = with_peak_bytes(lambda: seen(tmp_path, stored, stored.data + lying))
    assert found.entries[7][:5] == list(enumerate(ALIKE[:5]))
    assert peak < 80_000_000
