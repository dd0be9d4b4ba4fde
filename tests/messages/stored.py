"""Chunked messages as they are stored in real objects, planned by hand: this walk shares no code with the reader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from pulsar_backlog.errors import SourceError
from pulsar_backlog.messages.rebuild import ChunkedMessage, Copy
from pulsar_backlog.wire.entry import decode_entry

DATA = Path(__file__).parents[1] / "data"
EXPORT = DATA / "export"
BACKLOG = DATA / "backlog" / "objects"


def messages_of(folder: Path, ledger_id: int) -> list[ChunkedMessage]:
    """Chunked messages of a one-block ledger of which every chunk is stored, all copies in position order."""
    (path,) = folder.glob(f"*-ledger-{ledger_id}")
    data, at = path.read_bytes(), 128
    found: dict[tuple[str, int], tuple[ChunkedMessage, dict[int, list[Copy]]]] = {}
    while at + 12 <= len(data):
        length, entry_id = int.from_bytes(data[at : at + 4]), int.from_bytes(data[at + 4 : at + 12])
        entry = decode_entry(data[at + 12 : at + 12 + length])
        m = entry.metadata
        if m.uuid is not None and m.chunk_id is not None:
            blank = ChunkedMessage(
                m.uuid, m.publish_time, m.total_chunk_msg_size or 0, m.uncompressed_size, m.compression,
                m.encryption_keys is not None, ((),) * (m.num_chunks_from_msg or 0),
            )  # fmt: skip
            _, copies = found.setdefault((m.uuid, m.publish_time), (blank, {}))
            copy = Copy(ledger_id, entry_id, path.name, at + 12, length, entry.layout.payload_offset)
            copies.setdefault(m.chunk_id, []).append(copy)
        at += 12 + length
    return [
        replace(blank, copies=tuple(tuple(copies[i]) for i in range(len(blank.copies))))
        for blank, copies in found.values()
        if len(copies) == len(blank.copies)
    ]


def reading(folder: Path, damage: Callable[[str, int, bytearray], None] | None = None) -> Callable[..., np.ndarray]:
    """Reads ranges of the folder's files; `damage` may change what was read (path, first byte, bytes)."""

    def read(path: str, start: int, end: int) -> np.ndarray:
        try:
            with (folder / path).open("rb") as file:
                file.seek(start)
                data = bytearray(file.read(end - start))
        except OSError as error:
            raise SourceError(path, "not_found", "gone") from error
        if damage is not None:
            damage(path, start, data)
        return np.frombuffer(bytes(data), dtype=np.uint8)

    return read
