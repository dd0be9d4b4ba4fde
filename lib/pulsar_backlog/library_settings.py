"""What libraries read of the environment when they are loaded, for processes that are ours alone."""

from __future__ import annotations

import os

LIBRARY_SETTINGS = {"ARROW_DEFAULT_MEMORY_POOL": "system", "OPENBLAS_NUM_THREADS": "1"}
"""Arrow takes memory as all else does: its own pool gives pages back within milliseconds, and to clear new ones takes a
twelfth of an audit's core seconds. NumPy starts no threads: they spin while it is imported, and no fork has them."""


def set_up_libraries() -> None:
    """Settle it for this process and those it starts, where the user says nothing; nothing of theirs is loaded yet."""
    for name, value in LIBRARY_SETTINGS.items():
        os.environ.setdefault(name, value)
