"""Chunk entries with what the fold found of their publication: what the consumer models read."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pulsar_backlog.chunks.clients.events import PayloadFact
from pulsar_backlog.terms import SURENESSES
from pulsar_backlog.wire.entry import CHECKSUM_STATES
from pulsar_backlog.wire.metadata import COMPRESSIONS

LOG_COLUMNS = (
    "ledger_id", "entry_id", "uuid", "publish_time_ms", "stored_ms", "chunk_id", "num_chunks", "total_bytes",
    "slice_bytes", "batched", "checksum", "codec", "uncompressed_bytes", "payload",
)  # fmt: skip
"""What `chunks.clients.events.LogEntry` is made of, in its order; the last, `marker`, no chunk has set."""

IN_LOG_COLUMNS = ("copies", "whole", "in_flight", "sureness")
"""The fields of `chunks.clients.outcomes.InLog`, in its order."""

MODEL_COLUMNS = ("topic", *LOG_COLUMNS, *IN_LOG_COLUMNS, "end_ms")

UNKNOWN_CODEC = "UNKNOWN"
"""Stands for every codec that has no name."""
CODECS = COMPRESSIONS[1:]
FEW_VALUES: dict[str, tuple[Any, ...]] = {
    "batched": (False, True),
    "checksum": CHECKSUM_STATES,
    "codec": (None, *CODECS, UNKNOWN_CODEC),
    "payload": get_args(PayloadFact),
    "whole": (False, True),
    "in_flight": (False, True),
    "sureness": SURENESSES,
}
"""Columns that hold one of few values. They go to the tasks as one number, because Spark takes its time to hand over
every single column."""

PACKED_COLUMNS = tuple(name for name in MODEL_COLUMNS if name not in FEW_VALUES)
"""The others."""


def packed_facts() -> str:
    """SQL: the columns of few values as one number, which `unpacked` takes apart."""
    number = "0"
    for name, values in FEW_VALUES.items():
        whens = (f"WHEN {name} IS NOT DISTINCT FROM {_literal(value)} THEN {at}" for at, value in enumerate(values))
        number = f"({number} * {len(values)} + CASE {' '.join(whens)} END)"
    return number


def unpacked(facts: pa.Array) -> dict[str, list[Any]]:
    """The columns that `packed_facts` made one of."""
    places = _places(facts.to_numpy()).items()
    return {name: np.array(FEW_VALUES[name], dtype=object)[place].tolist() for name, place in places}


def are(facts: npt.NDArray[np.int64], **wanted: str | bool | None) -> npt.NDArray[np.bool_]:
    """Of which packed rows these columns have these values."""
    places, mask = _places(facts), np.ones(len(facts), np.bool_)
    for name, value in wanted.items():
        mask &= places[name] == FEW_VALUES[name].index(value)
    return mask


def _places(facts: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.intp]]:
    """For each column of few values, which of them each row has."""
    lengths = [len(values) for values in FEW_VALUES.values()]
    return dict(zip(FEW_VALUES, np.unravel_index(facts, lengths), strict=True))


def _literal(value: str | bool | None) -> str:
    """A value of `FEW_VALUES` as SQL."""
    return f"'{value}'" if isinstance(value, str) else str(value if value is not None else "NULL")
