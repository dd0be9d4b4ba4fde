"""What maintenance did to tables, for a terminal, and as JSON lines."""

from __future__ import annotations

from rich.text import Text

from pulsar_backlog.json_text import to_json
from pulsar_backlog.report.maintenance import Maintenance, headline, table_lines
from pulsar_backlog.terminal import terminal


def print_maintenance(done: Maintenance, *, as_json: bool = False, then: str = "") -> None:
    """The sentence, then a line for each table; one JSON object where no one looks.

    Args:
        done: what was done.
        as_json: whether it is JSON on a terminal too.
        then: what to type next.
    """
    console = terminal()
    if as_json or not console.is_terminal:
        console.file.write(to_json({"type": "maintenance", **done.record(), "message": headline(done)}) + "\n")
        return
    console.print(Text(headline(done), style="bold"))
    for line in table_lines(done):
        console.print(f"  {line}")
    if then:
        console.print(then)
