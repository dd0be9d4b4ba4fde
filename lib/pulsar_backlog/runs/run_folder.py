"""A private folder of a run, for what its processes tell each other; it goes when the run ends."""

from __future__ import annotations

import tempfile
from collections.abc import Hashable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

_running: list[ExitStack] = []
_folders: list[Path] = []


@contextmanager
def one_run() -> Iterator[None]:
    """All that the block does is one run, also where it is a part of one that is running already."""
    if _running:
        yield
        return
    with ExitStack() as stack:
        _running.append(stack)
        try:
            yield
        finally:
            _running.clear()
            _folders.clear()


def current_run() -> Hashable:
    """What tells the run that is running from all others; None where none is."""
    return _running[0] if _running else None


def run_folder(*, make: bool = True) -> Path | None:
    """The folder of the run, which is made when it is asked for first; None where nothing runs.

    Args:
        make: whether it is made where nobody has asked for it yet.
    """
    if not _running or not (make or _folders):
        return None
    if not _folders:
        made = tempfile.TemporaryDirectory(prefix="pulsar-backlog-run-", ignore_cleanup_errors=True)  # mode 0700
        _folders.append(Path(_running[0].enter_context(made)))
    return _folders[0]
