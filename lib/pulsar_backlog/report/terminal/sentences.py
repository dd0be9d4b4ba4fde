"""An answer in sentences for who looks, as JSON for what reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pulsar_backlog.json_text import to_json

if TYPE_CHECKING:
    from rich.console import Console


def print_sentences(lines: Iterable[str], body: Mapping[str, object], console: Console) -> None:
    """Sentences on a terminal, one JSON line elsewhere."""
    if not console.is_terminal:
        console.file.write(to_json(body) + "\n")
        return
    for line in lines:
        console.print(line, soft_wrap=True)
