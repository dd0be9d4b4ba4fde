"""The machine's memory, as its system tells it."""

from pathlib import Path

import pytest

from pulsar_backlog.tasks import memory as told_by
from pulsar_backlog.tasks.memory import Memory, memory


def test_this_machine_has_memory() -> None:
    here = memory()
    assert here is not None
    assert 0 < here.free_bytes < here.total_bytes < 2**50


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MemTotal:       24000 kB\nMemFree:  10 kB\nMemAvailable:   21000 kB\n", Memory(24_576_000, 21_504_000)),
        ("MemTotal:       24000 kB\n", None),
        (None, None),
    ],
)
def test_a_system_that_does_not_tell(
    text: str | None, expected: Memory | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if text is not None:
        (tmp_path / "meminfo").write_text(text)
    monkeypatch.setattr(told_by, "_MEMINFO", tmp_path / "meminfo")
    assert memory() == expected
