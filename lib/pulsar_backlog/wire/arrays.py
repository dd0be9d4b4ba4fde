"""Types of the arrays that many entries are held in."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


def pooled_bytes(size: int) -> Bytes:
    """Room for bytes in Arrow's memory pool, which keeps what was given back for a while.

    A page that is new to the process costs more than to copy into it: the system clears it when it is first touched.
    """
    return np.frombuffer(pa.allocate_buffer(size), dtype=np.uint8)
