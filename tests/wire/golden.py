"""Real entries of tests/data/wire and what real clients got from them."""

import json
from pathlib import Path
from typing import Any

from pulsar_backlog.wire.entry import Entry, decode_entry

FOLDER = Path(__file__).parents[1] / "data" / "wire"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text())
ENTRIES: dict[str, dict[str, Any]] = EXPECTED["entries"]
FAMILIES: dict[str, dict[str, Any]] = EXPECTED["families"]


def read(name: str) -> tuple[Entry, bytes, bytes]:
    """The entry decoded, its bytes, and its payload as stored."""
    data = (FOLDER / name).read_bytes()
    entry = decode_entry(data)
    return entry, data, data[entry.layout.payload_offset :]
