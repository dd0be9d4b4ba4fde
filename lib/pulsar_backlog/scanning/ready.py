"""Imported where a scan will run: its modules are there then, and its compiled loops are loaded."""

from __future__ import annotations

import numpy as np

from pulsar_backlog.ledgers.block_entries import STATE_SIZE, walk_entries
from pulsar_backlog.scanning import fact_runs, unit
from pulsar_backlog.wire.columns import EntryDecoder

__all__ = ["fact_runs", "unit"]

_BYTES = np.empty(0, dtype=np.uint8)
_NONE = np.empty(0, dtype=np.int64)

EntryDecoder(1, 1).add(_BYTES, _NONE, _NONE)
walk_entries.compiled(
    _BYTES, 0, -1, True, np.zeros(STATE_SIZE, dtype=np.int64), _NONE, _NONE, _NONE, np.empty((1, 3), np.int64)
)
