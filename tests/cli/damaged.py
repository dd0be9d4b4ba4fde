"""One folder with a healthy ledger and, beside it, each kind of damage in a ledger of its own."""

from __future__ import annotations

import struct
from pathlib import Path

from tests.auditing import copy_ledgers, data_object, index_object
from tests.ledgers.encoding import OTHER_UUID, UUID, offload
from tests.ledgers.sources import put
from tests.wire.encode import REQUIRED, entry, number, pair, run

HEALTHY = 292
"""chunk-lz4: 11 real entries, 2 chunked messages."""

# Ledgers by what is wrong with them. Those below 1000 are real, of the bundled backlog.
EMPTY_INDEX, NO_DATA, NO_INDEX, TWICE, TRUNCATED, LENGTHENED, BAD_MAGIC = 22, 24, 26, 10, 28, 5, 7
FLIPPED_PAYLOAD = 14
BLOCK_GAP, HOSTILE_LENGTH, FLIPPED_METADATA, ZERO_BYTES, NEWER, SECRETS = 1001, 1002, 1003, 1004, 1005, 1006

PLAIN = [entry(payload=bytes([n]) * 40) for n in range(6)]


def make(folder: Path) -> Path:
    """Fill the folder."""
    copy_ledgers(
        folder, [HEALTHY, EMPTY_INDEX, NO_DATA, NO_INDEX, TWICE, TRUNCATED, LENGTHENED, BAD_MAGIC, FLIPPED_PAYLOAD]
    )
    _damage_real(folder)
    _write_synthetic(folder)
    (folder / "README.txt").write_text("not a ledger\n")
    (folder / "\x1b[31mred\n").write_text("a name that would steer a terminal")
    (folder / UUID).write_bytes(bytes.fromhex("26A66D32") + bytes(60))  # streaming offload
    return folder


def _damage_real(folder: Path) -> None:
    index_object(folder, EMPTY_INDEX).write_bytes(b"")
    data_object(folder, NO_DATA).unlink()
    index_object(folder, NO_INDEX).unlink()
    first = data_object(folder, TWICE)  # an earlier attempt that ended in mid-upload
    first.with_name(f"{OTHER_UUID}-ledger-{TWICE}").write_bytes(first.read_bytes()[:3000])
    data = data_object(folder, TRUNCATED)
    data.write_bytes(data.read_bytes()[:-1000])
    data = data_object(folder, LENGTHENED)
    data.write_bytes(data.read_bytes() + b"surplus")
    data = data_object(folder, BAD_MAGIC)
    data.write_bytes(b"\0\0\0\0" + data.read_bytes()[4:])
    data = data_object(folder, FLIPPED_PAYLOAD)
    data.write_bytes(_flip(data.read_bytes(), len(data.read_bytes()) - 10))


def _flip(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def _write_synthetic(folder: Path) -> None:
    size = 12 + len(PLAIN[0])
    # two blocks of three entries, and no entry in the data for the first block's last one: padding hides it
    gap = offload(PLAIN, 128 + 3 * size)
    hidden = bytearray(gap.data)
    hidden[128 + 2 * size : 128 + 3 * size] = (b"\xfe\xdc\xde\xad" * size)[:size]
    put(folder, type(gap)(bytes(hidden), gap.index, gap.offsets, gap.first_ids, gap.entries), BLOCK_GAP)

    hostile = offload(PLAIN)
    at = 128 + 2 * size
    data = hostile.data[:at] + struct.pack(">i", 0x7FFFFFFF) + hostile.data[at + 4 :]
    put(folder, type(hostile)(data, hostile.index, hostile.offsets, hostile.first_ids, hostile.entries), HOSTILE_LENGTH)

    flipped = offload(PLAIN)
    at = 128 + 3 * size + 12 + 6 + 4  # the first metadata byte of entry 3: the tag of producer_name
    data = _flip(flipped.data, at)
    put(
        folder,
        type(flipped)(data, flipped.index, flipped.offsets, flipped.first_ids, flipped.entries),
        FLIPPED_METADATA,
    )

    put(folder, offload([PLAIN[0], b"", PLAIN[2]]), ZERO_BYTES)
    put(folder, offload([PLAIN[0], entry(REQUIRED + number(99, 7))]), NEWER)

    # what people sent, in entries that are whole, damaged, odd, chunked and undecodable: nothing may pass it on
    said = (
        REQUIRED
        + pair(b"colour", b"qzx-value") * 2
        + run(6, b"qzx-key")
        + run(18, b"qzx-order")
        + pair(b"qzx-name", b"\xff")
    )
    plain = entry(said, b"qzx-payload")
    chunk = run(26, b"p-0") + number(27, 3) + number(28, 30) + number(29, 0)
    put(
        folder,
        offload([plain, plain[:-1] + b"!", entry(said + chunk, b"qzx-payload"), plain[:30], b"qzx-payload"]),
        SECRETS,
    )
