"""Whether entries pass their own checksum, compiled. To import this loads numba.

```
entry  [ 0E02 ][ n i32 ][ n bytes of broker metadata ]   where a broker adds them
       [ 0E01 ][ CRC-32C of all that follows, u32 ]      absent where a producer did not send one
       [ size of the metadata i32 ] ...
```
"""

from __future__ import annotations

from typing import Any

from pulsar_backlog.ledgers.mapfile.kernel import ABSENT, MISMATCH, VALID
from pulsar_backlog.wire import big_endian
from pulsar_backlog.wire.jit import compiled, crc32c

_HEAD_BYTES, _SIZE_BYTES = 6, 4
i32 = big_endian.i32.compiled


@compiled
def check_entries(buffer: Any, starts: Any, lengths: Any, states: Any) -> None:
    """The state of each entry, `ABSENT` and following, into `states`; every one lies in `buffer`."""
    for number in range(starts.size):
        at, end = starts[number], starts[number] + lengths[number]
        if end - at >= _HEAD_BYTES and buffer[at] == 0x0E and buffer[at + 1] == 0x02:
            size = i32(buffer, at + 2)
            if size < 0 or size > end - at - _HEAD_BYTES:
                states[number] = MISMATCH
                continue
            at += _HEAD_BYTES + size
        if end - at >= _HEAD_BYTES and buffer[at] == 0x0E and buffer[at + 1] == 0x01:
            stored = i32(buffer, at + 2) & 0xFFFFFFFF
            states[number] = VALID if crc32c(buffer, at + _HEAD_BYTES, end) == stored else MISMATCH
        else:
            fits = end - at >= _SIZE_BYTES and 0 <= i32(buffer, at) <= end - at - _SIZE_BYTES
            states[number] = ABSENT if fits else MISMATCH
