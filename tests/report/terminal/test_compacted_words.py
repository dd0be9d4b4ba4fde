"""What `compacted` prints: how many keys are wrong first."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from pulsar_backlog.report.terminal.compacted import CompactedSummary, Example, print_compacted

SUMMARY = CompactedSummary(
    "persistent://a/b/c\x1b[2J", "/d/ledger-9.entries", None, (5, 7), False, 10, 3, {"agrees": 3}, (), (), 0, 0, None
)


def shown(summary: CompactedSummary) -> list[str]:
    file = io.StringIO()
    print_compacted(summary, Console(file=file, force_terminal=True, width=200, color_system=None))
    return file.getvalue().splitlines()


@pytest.mark.parametrize(
    ("counts", "first"),
    [
        ({"agrees": 3}, "All of 3 keys that can be compared agree with the log."),
        ({"agrees": 2, "cut": 1}, "Readers of the compacted topic miss 1 of 3 keys: their messages are chunked."),
        ({"stale": 1, "cut": 1}, "1 of 2 keys differ from what compaction makes of the log that is here."),
    ],
)
def test_verdict_first(counts: dict[str, int], first: str) -> None:
    assert shown(replace(SUMMARY, counts=counts))[0] == first


def test_what_is_not_sure_is_said() -> None:
    examples = (Example("stale", "k\x1b", (5, 6), (5, 1), 4),)
    lines = shown(replace(SUMMARY, examples=examples, faults=("cut",), unreadable=1, damaged=2, gaps=3, named=False))
    assert "Topic: persistent://a/b/c\\x1b[2J" in lines
    assert any("perhaps further" in line for line in lines)
    assert any("ANOTHER ledger" in line for line in lines)
    assert "  stale: log 5:6, compacted of 5:1, 4 chunks key 'k\\\\x1b'" in lines
    assert any("cut" in line and "damaged" in line for line in lines)
    assert lines[-1].startswith("3 ledgers of the log")
