"""What the export says when it is done."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from pulsar_backlog.report.terminal.exported import ExportSummary, print_export

LEFT_OUT = {"X01": ("Chunked messages that were not exported because they are not whole", 1200)}


def printed(summary: ExportSummary, terminal: bool) -> list[str]:
    out = io.StringIO()
    print_export(summary, Console(file=out, width=200, force_terminal=terminal, color_system=None))
    return out.getvalue().splitlines()


@pytest.mark.parametrize(
    ("summary", "lines"),
    [
        (ExportSummary(2000, 2000, 2048, "delta", "/out", {}),
         ["2,000 messages exported, 2,000 of them verified (2.0 KiB): table messages in /out"]),
        (ExportSummary(3, 2, 10, "files", "/to/", LEFT_OUT),
         ["3 messages exported, 2 of them verified (10 B): /to/messages.jsonl and /to/payloads",
          "  X01  Chunked messages that were not exported because they are not whole: 1,200",
          "Rows that are not verified say why in `reason`; do not acknowledge their entries because of this export."]),
        (ExportSummary(0, 0, 0, "parquet", "/to", {}),
         ["No message was exported: no whole message matches the filters."]),
    ],
)  # fmt: skip
def test_the_first_line_says_what_is_there_and_where(summary: ExportSummary, lines: list[str]) -> None:
    assert printed(summary, terminal=True) == lines


def test_a_pipe_gets_one_json_line() -> None:
    (line,) = printed(ExportSummary(3, 2, 10, "parquet", "/to", LEFT_OUT), terminal=False)
    assert json.loads(line)["findings"] == {"X01": 1200}
    assert json.loads(line)["verified"] == 2
