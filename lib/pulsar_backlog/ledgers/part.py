"""A range of an object in memory, with room before it for the last bytes of the range before.

A window of the object begins where the window before cut an entry, so that it lies in two ranges. It has few bytes of
the first one: they are put before those of the second one, which are not copied.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pulsar_backlog.wire.arrays import Bytes


@dataclass(frozen=True)
class Part:
    """Bytes of an object.

    Attributes:
        memory: room, and the bytes.
        room: bytes of it that come before those of the object.
    """

    memory: Bytes
    room: int = 0

    @classmethod
    def of_content(cls, content: bytes | memoryview) -> Part:
        """The part that is the content of an answer: what was received in one memory may have room before it."""
        if not isinstance(content, memoryview):
            return cls(np.frombuffer(content, dtype=np.uint8))
        received = np.asarray(content.obj)
        whole = received if received.base is None else np.asarray(received.base)
        return cls(whole, whole.size - received.size)

    @property
    def data(self) -> Bytes:
        """The bytes of the object."""
        return self.memory[self.room :]

    def behind(self, before: list[Bytes], size: int) -> Bytes:
        """The bytes before those of this part, and the first ones of it.

        A byte of the object always has the same place in the room: who looks at an earlier window sees no change.
        """
        start = self.room - sum(map(len, before))
        if start < 0:
            return np.concatenate([*before, self.data[:size]])
        np.concatenate(before, out=self.memory[start : self.room])
        return self.memory[start : self.room + size]
