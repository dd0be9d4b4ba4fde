"""Messages that every client delivers alike, whatever else it has open: models count them instead of playing them.

Each is whole and stored once, its chunks follow each other with no other chunk between, and nothing of it is odd. A
client opens it, appends to it and delivers it; what that leaves behind is the same for every such message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class WholeMessages(NamedTuple):
    """Such messages, one after the other, with plain messages between them and nothing else.

    Attributes:
        uuids: of each, in order.
        begun_ms: when the broker stored the first chunk of each.
        entries: their chunks, and the plain ones between and before them.
        largest_bytes: size of the largest.
    """

    uuids: Sequence[str]
    begun_ms: Sequence[int]
    entries: int
    largest_bytes: int
