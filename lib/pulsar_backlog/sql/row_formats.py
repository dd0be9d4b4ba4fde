"""Rows of an answer as text: CSV, JSON, Markdown, one value a line, a grid. Values are text, null is None."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from pulsar_backlog.foreign_text import visible

if TYPE_CHECKING:
    from rich.console import Console

Texts: TypeAlias = Sequence[str | None]

_MARKUP = re.compile(r"([\\`*\[\]<>|~&]|(?<!\w)_|_(?!\w))")
_MAX_LINES = 3
"""Lines of a terminal that the texts of one row of a grid may fill, laid side by side."""


def csv_lines(columns: Sequence[str], rows: Iterable[Texts]) -> Iterator[str]:
    """As RFC 4180 has it, with Unix's line ends; null is an empty field, an empty text a quoted one."""
    for row in chain([columns], rows):
        yield ",".join("" if value is None else _csv_field(value) for value in row) + "\n"


def json_array(lines: Iterable[str]) -> Iterator[str]:
    """Objects, each on its line, as one array."""
    before = "[\n"
    for line in lines:
        yield before + line
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def json_lines(lines: Iterable[str]) -> Iterator[str]:
    """Objects, each on its line."""
    return (f"{line}\n" for line in lines)


def markdown_lines(columns: Sequence[str], rows: Iterable[Texts]) -> Iterator[str]:
    """A table of GitHub's Markdown; nothing in a value is markup."""
    yield _markdown_line(columns)
    yield _markdown_line(["---"] * len(columns), str)
    for row in rows:
        yield _markdown_line(row)


def vertical_lines(columns: Sequence[str], rows: Iterable[Texts]) -> Iterator[str]:
    r"""Each row as a record, as psql's `\x` shows it: a line for each column."""
    names = [one_line(name) for name in columns]
    width = max(map(len, names), default=0)
    for number, row in enumerate(rows, 1):
        yield f"-[ RECORD {number} ]".ljust(width + 1, "-") + "\n"
        for name, value in zip(names, row, strict=True):
            yield f"{name.ljust(width)} | {one_line(value)}".rstrip() + "\n"


def tab_lines(columns: Sequence[str], rows: Iterable[Texts]) -> Iterator[str]:
    """Lines for other programs: nothing is cut, no value holds a tab or a line's end."""
    for row in chain([columns], rows):
        yield "\t".join(map(one_line, row)) + "\n"


def fits_grid(columns: Sequence[str], rows: Sequence[Texts], width: int) -> bool:
    """Whether a grid of this width breaks no word, and folds no row into many lines."""
    words, texts = _widths(columns, rows)
    return words <= width and texts <= _MAX_LINES * width


def print_grid(columns: Sequence[str], rows: Sequence[Texts], console: Console) -> None:
    """Print a grid, which is wider than the console where it does not fit."""
    from rich.table import Table as Grid  # noqa: PLC0415 - only people want a grid

    if not console.is_terminal or not fits_grid(columns, rows, console.width):
        console.width = max(_widths(columns, rows)[1], console.width)
    grid = Grid(*map(one_line, columns))
    for row in rows:
        grid.add_row(*map(one_line, row))
    console.print(grid, markup=False)


def one_line(value: str | None) -> str:
    """A value on one line that cannot steer a terminal, with nothing left out; null is empty."""
    return visible(value or "", sys.maxsize)


def _csv_field(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if not text or re.search(r'[",\r\n]', text) else text


def _markdown_line(row: Texts, escape: Callable[[str], str] = lambda text: _MARKUP.sub(r"\\\1", text)) -> str:
    return f"| {' | '.join(escape(one_line(value)) for value in row)} |\n"


def _widths(columns: Sequence[str], rows: Sequence[Texts]) -> tuple[int, int]:
    """Of a grid that breaks no word, and of one that breaks no text."""
    from rich.cells import cell_len  # noqa: PLC0415

    frame = 3 * len(columns) + 1
    texts = [[one_line(value) for value in column] for column in zip(columns, *rows, strict=True)]
    words = sum(max(cell_len(word) for text in column for word in text.split() or [""]) for column in texts)
    return frame + words, frame + sum(max(map(cell_len, column)) for column in texts)
