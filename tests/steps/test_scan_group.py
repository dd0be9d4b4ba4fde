"""Which files a scan reads past the page cache: those of large scans."""

import pytest

from pulsar_backlog.frames.scanning.task import ScanTask
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.steps import scan_group
from pulsar_backlog.tasks.memory import Memory

TASK = ScanTask(Source("/ledgers", None), "demo", {})


@pytest.mark.parametrize(
    ("of_machine", "size", "is_past"),
    [(Memory(900, 800), 101, True), (Memory(900, 800), 100, False), (None, 10**15, False)],
)
def test_a_large_scan_reads_past_the_page_cache(
    of_machine: Memory | None, size: int, is_past: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan_group, "memory", lambda: of_machine)
    task = scan_group.past_page_cache(TASK, size)
    assert task.source.past_page_cache is is_past
    assert (task.cluster, task.source.source) == (TASK.cluster, TASK.source.source)
