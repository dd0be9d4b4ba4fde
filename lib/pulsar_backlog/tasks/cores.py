"""How many cores this process may use."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_CPU_LIMITS = (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"))
"""Files with the microseconds of the cores' time that a container has in a period, and the period (cgroup v2, v1)."""


def cores() -> int:
    """Cores that this process may use, as Java counts them: a container's share of the machine too."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for names in _CPU_LIMITS:
        with suppress(OSError, ValueError):  # another version, or no limit: `max` in v2, -1 in v1
            share, period = map(int, " ".join((_CGROUPS / name).read_text("ascii") for name in names).split())
            if share > 0 and period > 0:
                usable = min(usable, -(-share // period))
    return usable
