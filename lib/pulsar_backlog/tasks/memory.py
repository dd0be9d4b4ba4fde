"""How much memory the machine has."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_MEMINFO = Path("/proc/meminfo")


class Memory(NamedTuple):
    """Bytes of the machine's memory: all of it, and what programs could still get, its page cache included."""

    total_bytes: int
    free_bytes: int


def memory() -> Memory | None:
    """The machine's memory now; None where the system does not tell, as on macOS."""
    with suppress(OSError, KeyError):
        kib = dict(re.findall(r"^(MemTotal|MemAvailable): +(\d+) kB$", _MEMINFO.read_text("ascii"), re.MULTILINE))
        return Memory(int(kib["MemTotal"]) * 1024, int(kib["MemAvailable"]) * 1024)
    return None
