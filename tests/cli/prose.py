"""Commands that stand inside sentences of the program, found in its sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from pulsar_backlog.command_line import program

LIB = Path(__file__).parents[2] / "lib" / "pulsar_backlog"


def commands_in(text: str) -> Iterator[str]:
    """The commands inside a text: from the program's name to the end of the clause; a name alone is one too."""
    for found in _command().finditer(text):
        yield found.group()


@cache
def _command() -> re.Pattern[str]:
    """A clause ends with its mark and a space, or with a bracket; not inside quotes, nor inside a URL."""
    names = "|".join(sorted(program().commands, key=len, reverse=True))  # type: ignore[attr-defined]
    return re.compile(rf'pulsar-backlog (?:{names})\b(?:"[^"]*"|[^"\n])*?(?=[)]|[,;:.] |[,;:.]?$)', re.MULTILINE)


def commands_in_sources() -> dict[str, str]:
    """Commands in texts of the sources, and the file of each; what Python fills in stands in braces.

    Docstrings are for readers of the sources, and a text that is a command's name only is a label.
    """
    found: dict[str, str] = {}
    for file in sorted(LIB.rglob("*.py")):
        for text in _texts(ast.parse(file.read_text())):
            if not re.fullmatch(r"pulsar-backlog [a-z ]+", text):
                found.update(dict.fromkeys(commands_in(text), str(file.relative_to(LIB))))
    for file in sorted((LIB / "report" / "templates").iterdir()):
        for text in re.findall(r"<code>(pulsar-backlog .*?)</code>", file.read_text()):
            found[text] = str(file.relative_to(LIB))
    return found


def _texts(tree: ast.Module) -> Iterator[str]:
    inside: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inside.add(node.value)  # a docstring
        if isinstance(node, ast.JoinedStr):
            inside.update(node.values)
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else f"{{{ast.unparse(part)[2:-1]}}}"
                for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inside:
            yield node.value
