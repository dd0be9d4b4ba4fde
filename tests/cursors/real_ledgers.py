"""Real cursor ledgers and what the broker said of the same moment."""

from __future__ import annotations

import json
from pathlib import Path

DATA = Path(__file__).parents[1] / "data" / "cursors"
CURSOR_LEDGERS = sorted(DATA.glob("broker-*/entrylog-cursor-ledger-*.json"))


def entries_of(path: Path) -> dict[int, bytes]:
    """The entries of a cursor ledger, as a bookie held them."""
    return {int(id_): bytes.fromhex(one["hex"]) for id_, one in json.loads(path.read_text()).items()}
