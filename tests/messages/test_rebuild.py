"""Chunked messages that real clients sent, put together from the stored bytes, whole and damaged."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import cramjam
import pytest

from pulsar_backlog.messages.keys import KeySource
from pulsar_backlog.messages.payloads import PayloadStore
from pulsar_backlog.messages.ranges import RangeReader
from pulsar_backlog.messages.rebuild import ChunkedMessage, Copy, Rebuilt, rebuild_message
from pulsar_backlog.wire.entry import decode_entry
from tests.messages.stored import BACKLOG, EXPORT, messages_of, reading
from tests.wire.encode import entry, number, run

KEYS = KeySource(str(EXPORT / "keys"))
OBJECTS = EXPORT / "objects"


def rebuilt(
    message: ChunkedMessage, tmp_path: Path, folder: Path = OBJECTS, damage: Any = None, keys: KeySource = KEYS
) -> Rebuilt:
    store = PayloadStore(str(tmp_path), 1 << 20, 1 << 30)
    ranges = [(c.path, c.offset, c.offset + c.length) for copies in message.copies for c in copies[:1]]
    return rebuild_message(message, RangeReader(reading(folder, damage), ranges), keys.ring(), store)


def truth(ledger_id: int) -> dict[int, dict[str, Any]]:
    """What a Java reader got as chunked messages, by the entry of the last chunk."""
    rows = [json.loads(line) for line in (EXPORT / "expected" / "truth.jsonl").read_text().splitlines()]
    mine = [row for row in rows if row["l"] == ledger_id and row["client"].startswith("java")]
    return {row["e"]: row for row in mine if "first" in row}


# encrypted by Java under three codecs; Python with Snappy and Zstandard; keyed Java
@pytest.mark.parametrize(("ledger_id", "count"), [(57, 6), (181, 1), (179, 1), (268, 12)])
def test_what_clients_read_is_what_is_rebuilt(ledger_id: int, count: int, tmp_path: Path) -> None:
    wanted = truth(ledger_id)
    found = [rebuilt(message, tmp_path) for message in messages_of(OBJECTS, ledger_id)]
    assert {r.used[-1].entry_id: (r.payload.size_bytes, r.payload.sha256) for r in found if r.payload} == {
        entry_id: (row["size"], row["sha256"]) for entry_id, row in wanted.items()
    }
    assert {r.used[-1].entry_id: r.used[0].entry_id for r in found} == {e: r["first"][1] for e, r in wanted.items()}
    assert all(r.verified and r.reason == "" and r.last is not None for r in found)
    assert len(found) == count


def test_a_damaged_copy_gives_way_to_its_duplicate(tmp_path: Path) -> None:
    (message,) = (m for m in messages_of(BACKLOG, 7) if len(m.copies[0]) == 2)  # stored whole twice
    sound = rebuilt(message, tmp_path, BACKLOG)
    bad = message.copies[1][0]

    def damage(path: str, start: int, data: bytearray) -> None:
        at = bad.offset + bad.length - 1 - start
        if path == bad.path and 0 <= at < len(data):
            data[at] ^= 1

    healed = rebuilt(message, tmp_path, BACKLOG, damage)
    assert healed.payload == sound.payload
    assert healed.verified
    assert (
        [c.entry_id for c in healed.used]
        == [
            message.copies[0][0].entry_id,
            message.copies[1][1].entry_id,  # and exactly the entries it was made of are named
            *(copies[0].entry_id for copies in message.copies[2:]),
        ]
    )


def test_every_flipped_byte_is_noticed(tmp_path: Path) -> None:
    message = messages_of(OBJECTS, 181)[0]
    first = message.copies[0][0]
    for at in range(first.offset, first.offset + first.length, 97):

        def damage(path: str, start: int, data: bytearray, at: int = at) -> None:
            if start <= at < start + len(data):
                data[at - start] ^= 0x10

        result = rebuilt(message, tmp_path, damage=damage)
        # Broker metadata, in front, is not covered by the checksum and not part of the message.
        if not (result.verified and at < first.offset + 40):
            assert result.payload is None
            assert result.outcome == "corrupt"


def chunk(uuid: bytes, chunk_id: int, payload: bytes, total: int) -> bytes:
    """A chunk of two, as the format has it; LZ4."""
    fields = run(1, b"p") + number(2, 7) + number(3, 1000) + number(8, 1) + number(9, 4000) + run(26, uuid)
    return entry(fields + number(27, 2) + number(28, total) + number(29, chunk_id), payload)


def test_where_sound_copies_differ_the_one_that_decompresses_is_found(tmp_path: Path) -> None:
    block = bytes(cramjam.lz4.compress_block(bytes(range(250)) * 16, store_size=False))
    half = len(block) // 2
    stored = [chunk(b"p-7", 0, b"\xff" * half, len(block)), chunk(b"p-7", 0, block[:half], len(block))]
    stored.append(chunk(b"p-7", 1, block[half:], len(block)))
    data, copies = b"", []
    for number_, body in enumerate(stored):
        copies.append(Copy(1, number_, "object", len(data), len(body), decode_entry(body).layout.payload_offset))
        data += body
    (tmp_path / "object").write_bytes(data)
    message = ChunkedMessage("p-7", 1000, len(block), 4000, "LZ4", False, ((copies[0], copies[1]), (copies[2],)))
    result = rebuilt(message, tmp_path, tmp_path)
    assert result.verified
    assert [copy.entry_id for copy in result.used] == [1, 2]
    alone = replace(message, copies=((copies[0],), (copies[2],)))
    assert rebuilt(alone, tmp_path, tmp_path).outcome == "undecodable"


def test_another_entry_in_the_place_of_a_chunk_is_refused(tmp_path: Path) -> None:
    first, second = messages_of(OBJECTS, 268)[:2]
    mixed = replace(first, copies=(second.copies[0], *first.copies[1:]))
    result = rebuilt(mixed, tmp_path)
    assert (result.outcome, result.payload) == ("corrupt", None)


def test_without_keys_the_row_still_says_where_the_ciphertext_lies(tmp_path: Path) -> None:
    message = messages_of(OBJECTS, 57)[0]
    result = rebuilt(message, tmp_path, keys=KeySource())
    assert (result.outcome, result.payload, result.verified) == ("no_key", None, False)
    assert result.used == tuple(copies[0] for copies in message.copies)


def test_sizes_that_lie_are_never_verified(tmp_path: Path) -> None:
    message = messages_of(OBJECTS, 181)[0]
    for lie in (
        replace(message, total_bytes=message.total_bytes + 1),
        replace(message, uncompressed_size=(message.uncompressed_size or 0) - 1),
        replace(message, uncompressed_size=(message.uncompressed_size or 0) + 1),
        replace(message, uncompressed_size=0),  # clients deliver an empty message
        replace(message, uncompressed_size=None),
    ):
        result = rebuilt(lie, tmp_path)
        assert not result.verified
        assert result.payload is not None
        assert result.payload.size_bytes == message.uncompressed_size
        assert "its metadata says" in result.reason


def test_an_object_that_is_gone_or_shorter_is_unreadable(tmp_path: Path) -> None:
    message = messages_of(OBJECTS, 181)[0]
    gone = replace(message, copies=tuple((replace(c[0], path="gone"),) for c in message.copies))
    assert rebuilt(gone, tmp_path).outcome == "unreadable"
    last = message.copies[-1][0]
    beyond = replace(last, offset=last.offset + 10_000_000)
    cut_off = replace(message, copies=(*message.copies[:-1], (beyond,)))
    assert rebuilt(cut_off, tmp_path).outcome == "unreadable"


def test_large_payloads_are_files_named_by_their_hash_and_nothing_is_left_of_failures(tmp_path: Path) -> None:
    message = messages_of(OBJECTS, 181)[0]
    reader = RangeReader(reading(OBJECTS))
    store = PayloadStore(str(tmp_path), 100, 1 << 30)
    result = rebuild_message(message, reader, KEYS.ring(), store)
    assert result.payload is not None
    assert result.payload.inline is None
    assert result.payload.file == f"payloads/{result.payload.sha256[:2]}/{result.payload.sha256}"
    assert hashlib.sha256((tmp_path / result.payload.file).read_bytes()).hexdigest() == result.payload.sha256
    broken = replace(message, uncompressed_size=message.uncompressed_size, compression="ZSTD")
    assert rebuild_message(broken, reader, KEYS.ring(), store).outcome == "undecodable"
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1
