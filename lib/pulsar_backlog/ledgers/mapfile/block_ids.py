"""Which entry ids the records of a block have: by their keys, by the block's place, and by what follows it.

The offloader writes each entry under the id behind the last one. Keys that a checksum of the codec covers are those
that were written. Others may be damaged as a whole and still rise by one, for a codec repeats what it copies; so where
they are not what the place says, the begin of the next block, or the end that is promised, must agree with one of them.
"""

from __future__ import annotations

import numpy as np

from pulsar_backlog.wire.arrays import Int64s


def first_id(keys: Int64s | None, count: int, place: int | None, following: int | None) -> int | None:
    """The id of a block's first record, or None where nothing proves it.

    Args:
        keys: of its records; None where they are damaged.
        count: of its records.
        place: the id that comes next by the blocks before; None behind a gap.
        following: the id behind its last record; None where it is not known.
    """
    is_row = keys is not None and bool((np.diff(keys) == 1).all())
    by_keys = int(keys[0]) if keys is not None and is_row else None
    possible = {one for one in (by_keys, place) if one is not None}
    if following is None:
        return possible.pop() if len(possible) == 1 else None
    return following - count if following - count in possible or not possible else None
