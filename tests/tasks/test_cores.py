"""How many cores this process may use: those it is bound to, and a container's share."""

from __future__ import annotations

from pathlib import Path

import pytest

from pulsar_backlog.tasks import cores


@pytest.mark.parametrize(
    ("limits", "usable"),
    [
        ({"cpu.max": "max 100000"}, 8),
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "50000 100000"}, 1),
        ({"cpu.max": ""}, 8),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 8),
        ({"cpu/cpu.cfs_quota_us": "250000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3),
        ({"cpu/cpu.cfs_quota_us": "250000\n"}, 8),
        ({}, 8),
    ],
)
def test_a_container_has_its_share_of_the_cores(
    limits: dict[str, str], usable: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpu").mkdir()
    for name, limit in limits.items():
        (tmp_path / name).write_text(limit)
    monkeypatch.setattr(cores, "_CGROUPS", tmp_path)
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda _: set(range(8)))
    assert cores.cores() == usable
