"""The end of pyarrow's reads: its threads go on for a while after the last row was taken, ahead of a LIMIT.

They call Python to read a bucket. One that does so while the interpreter ends takes the whole process down ("terminate
called without an active exception"). So nothing may be left that holds an object of Python when a query's connection
is closed: reads that have not begun are refused, and those that have are waited for.
"""

from __future__ import annotations

import time
import traceback
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

_POLL_SECONDS = 0.005
_MAX_SECONDS = 60.0
"""Longer than any request may take, see `--store-timeout-seconds`."""


class Readers:
    """What threads of pyarrow hold for one connection.

    Attributes:
        ended: whether reads are refused.
    """

    def __init__(self) -> None:
        self.ended = False
        self._held: list[weakref.ref[object]] = []

    def add(self, files: object) -> None:
        """Wait for this too. All that pyarrow gets of it, each byte that was read included, must hold it."""
        self._held.append(weakref.ref(files))

    def end(self) -> None:
        """Refuse reads, and wait until no thread holds anything."""
        self.ended = True
        until = time.monotonic() + _MAX_SECONDS
        while any(reader() is not None for reader in self._held) and time.monotonic() < until:
            time.sleep(_POLL_SECONDS)


@contextmanager
def readers() -> Iterator[Readers]:
    """Those of the connection that is opened in the block; they have ended when it ends."""
    made = Readers()
    try:
        yield made
    except BaseException as error:
        _forget_variables(error)
        raise
    finally:
        made.end()


def _forget_variables(error: BaseException | None) -> None:
    """Clear the variables of the functions that an error ended, and of those before it: they hold what was opened."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__
