"""Rules of CONTRIBUTING.md that a count can hold: how long a page, a module and a function may be."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from pulsar_backlog.findings import CATALOGUE

ROOT = Path(__file__).parents[2]
MOST_LINES = {"jobs": 120, "lib": 300}
MOST_LINES_OF_A_FUNCTION = {
    "jobs": 60, "lib": 40, "lib/pulsar_backlog/commands": 60, "bench": 40, "scripts": 40,
}  # fmt: skip
"""Commands are pages as jobs are: their options are their parameters."""


@pytest.mark.parametrize("folder", MOST_LINES)
def test_a_file_is_no_longer_than_the_rule_says(folder: str) -> None:
    lines = {
        path: len(path.read_text().splitlines()) for path in (ROOT / folder).rglob("*.py") if "_pb2" not in path.name
    }
    assert lines
    assert {str(path.relative_to(ROOT)): count for path, count in lines.items() if count > MOST_LINES[folder]} == {}


def test_no_two_test_modules_have_one_name() -> None:
    # pytest takes the second for the first and refuses it; folders that are packages have names of their own
    modules = [path for path in (ROOT / "tests").rglob("test_*.py") if not (path.parent / "__init__.py").exists()]
    times = Counter(path.name for path in modules)
    assert [name for name, count in times.items() if count > 1] == []


@pytest.mark.parametrize("folder", ["jobs", "lib", "bench", "scripts"])
def test_a_function_is_no_longer_than_the_rule_says(folder: str) -> None:
    paths = [path for path in (ROOT / folder).rglob("*.py") if "_pb2" not in path.name]
    lines = {
        f"{place} {name}": (count, place)
        for path in paths
        for place in [str(path.relative_to(ROOT))]
        for name, count in _functions(path)
    }
    assert lines
    assert {name: count for name, (count, place) in lines.items() if count > _most_lines(place)} == {}


def _most_lines(place: str) -> int:
    """Of the innermost folder that has a rule."""
    return MOST_LINES_OF_A_FUNCTION[max((f for f in MOST_LINES_OF_A_FUNCTION if place.startswith(f"{f}/")), key=len)]


def _functions(path: Path) -> Iterator[tuple[str, int]]:
    """Each function with its lines: its signature counts, its docstring does not."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            words = ast.get_docstring(node, clean=False)
            docstring = words.count("\n") + 1 if words is not None else 0
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1 - docstring


NO_NAMES = frozenset(["asked", "filed", "found", "handed", "held", "kept", "known", "left", "noted", "said", "told"])
"""Participles that stood for nouns: a name says what a thing is. See docs/glossary.md."""
OF_ERRORS = tuple(f"lib/pulsar_backlog/{room}" for room in ("errors.py", "wire/", "ledgers/", "cursors/", "protocol/"))
"""Where errors are made: what was `expected`, and what was `found`."""
NAMES_OF_OTHERS = {
    ("lib/pulsar_backlog/options/results.py", "known"),  # the option --known
    ("lib/pulsar_backlog/repair/applying/drift.py", "found"),  # what a plan expected, and what stands there
    ("lib/pulsar_backlog/report/figures.py", "left"),  # a side, as CSS calls it
}


@pytest.mark.parametrize("folder", ["jobs", "lib"])
def test_no_name_is_a_participle_alone(folder: str) -> None:
    used = {
        (str(path.relative_to(ROOT)), name)
        for path in (ROOT / folder).rglob("*.py")
        if "_pb2" not in path.name
        for name in _names(path)
        if name.strip("_").lower() in NO_NAMES
    }
    assert {(place, name) for place, name in used if not (name == "found" and place.startswith(OF_ERRORS))} == {
        one for one in NAMES_OF_OTHERS if one[0].startswith(folder)
    }


def _names(path: Path) -> Iterator[str]:
    """The module's, and all that it gives to functions, classes, parameters, variables and fields."""
    yield path.stem
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def test_codes_in_queries_are_those_of_the_catalogue() -> None:
    # severity and name are the catalogue's: a query that gave a code of its own would give rows without them
    named = {
        (code, path.name)
        for path in (ROOT / "conf").glob("*/*.sql")
        for code in re.findall(r"'([A-Z]\d{2})'", path.read_text())
    }
    assert len(named) > 10
    assert {(code, name) for code, name in named if code not in CATALOGUE} == set()
