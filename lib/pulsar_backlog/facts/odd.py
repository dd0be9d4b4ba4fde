"""Entries that are odd or damaged: by finding code, how many, and the first of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pulsar_backlog.facts import entry_numbers as of
from pulsar_backlog.facts.stretch import Bools, Stretch, equals
from pulsar_backlog.findings import MAX_EVIDENCE
from pulsar_backlog.wire.metadata import FLAG_NOT_UTF8, FLAG_TIME_OUT_OF_RANGE, FLAG_UNKNOWN_FIELDS

_FLAG_CODES = {FLAG_UNKNOWN_FIELDS: "E03", FLAG_TIME_OUT_OF_RANGE: "E04", FLAG_NOT_UTF8: "E06"}
_OTHER_FLAGS = "E07"
MISMATCH, ABSENT = "E01", "E05"


@dataclass(frozen=True)
class Places:
    """Entries of one code: how many, and the first, `MAX_EVIDENCE` at most."""

    count: int
    entry_ids: tuple[int, ...]


def odd_entries(stretch: Stretch) -> dict[str, Places]:
    """The odd entries of a stretch, by code."""
    masks = {MISMATCH: stretch.has(of.DAMAGED), ABSENT: stretch.has(of.UNCHECKED)} | _flagged(stretch)
    return {code: _places(stretch, mask) for code, mask in sorted(masks.items()) if mask.any()}


def both_places(before: Mapping[str, Places], after: Mapping[str, Places]) -> dict[str, Places]:
    """The odd entries of two neighbouring stretches."""
    nothing = Places(0, ())
    pairs = {code: (before.get(code, nothing), after.get(code, nothing)) for code in sorted({*before, *after})}
    return {
        code: Places(a.count + b.count, (a.entry_ids + b.entry_ids)[:MAX_EVIDENCE]) for code, (a, b) in pairs.items()
    }


def _flagged(stretch: Stretch) -> dict[str, Bools]:
    """By code the entries that have a flag of it."""
    flags: pa.ListArray = stretch.rows.column("flags")
    if flags.null_count == len(flags):
        return {}
    names, rows = pc.list_flatten(flags), pc.list_parent_indices(flags).to_numpy()
    remaining = np.ones(len(names), dtype=np.bool_)
    flagged_by: dict[str, Bools] = {}
    for flag, code in _FLAG_CODES.items():
        hit = equals(names, flag)
        remaining &= ~hit
        flagged_by[code] = _at(rows[hit], len(stretch))
    return flagged_by | {_OTHER_FLAGS: _at(rows[remaining], len(stretch))}


def _at(rows: np.ndarray[tuple[int, ...], np.dtype[np.int64]], count: int) -> Bools:
    mask = np.zeros(count, dtype=np.bool_)
    mask[rows] = True
    return mask


def _places(stretch: Stretch, mask: Bools) -> Places:
    first = stretch.entry_ids[np.flatnonzero(mask)[:MAX_EVIDENCE]]
    return Places(int(np.count_nonzero(mask)), tuple(first.tolist()))
