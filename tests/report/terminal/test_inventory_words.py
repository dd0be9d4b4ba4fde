"""What `inventory` prints: needless copies first, then why the others stay."""

from __future__ import annotations

import io

from rich.console import Console

from pulsar_backlog.report.terminal.inventory import Holder, InventorySummary, LargeLedger, Line, print_inventory


def shown(summary: InventorySummary) -> str:
    file = io.StringIO()
    print_inventory(summary, Console(file=file, force_terminal=True, width=200, color_system=None))
    return file.getvalue()


def test_verdict_first() -> None:
    lines = [
        Line("leftover", 2, 1024**3, 0.02, None),
        Line("trimmed", 1, 0, 0.0, "owner"),
        Line("rescue", 1, 5, 0.0, "needed"),
    ]
    said = shown(InventorySummary("s3://b\x1b[2J", "2026-11-22 10:00:00", 0.02, lines, "/l", 4, 0, 1, ["rm it"]))
    first, *rest = said.splitlines()
    assert first == "2 copies in s3://b\\x1b[2J (1.0 GiB, 0.02 a month) are needed by no broker."
    assert any("--sole-owner" in line for line in rest)
    assert any("not here or not whole" in line for line in rest)
    assert "4 objects and 0 unfinished uploads on the lists in /l. Nothing was deleted." in rest
    assert "1 name cannot be written" in said
    assert rest[-1] == "  rm it"


def test_nothing_needless() -> None:
    assert shown(InventorySummary("/x", "t", 1, [])).startswith("Nothing in /x is known to be unneeded.")


def test_who_holds_the_largest() -> None:
    said = shown(
        InventorySummary(
            "/x", "t", 1, [], largest=[LargeLedger("t\x1b", 7, 1024**3, 0.5, ["cursor a", "replicator b"], 3)],
            sole_holders=[Holder(None, "cursor a", 2, 5, 0.0)],
        )
    )  # fmt: skip
    assert "0.50  ledger 7 of t\\x1b: cursor a, replicator b and 3 more" in said
    assert "cursor a on no known topic: 2 ledgers" in said
