"""Names that documents give to files, rooms and code exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TRACKED = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, text=True, check=True, stdout=-1
).stdout.splitlines()
FILES = {name for name in TRACKED if (ROOT / name).exists()}
FOLDERS = {str(parent) + "/" for name in FILES for parent in Path(name).parents}
NOT_OURS = {"PulsarApi.proto"}
"""Files of Pulsar itself."""
RUNTIME = {".cache/", "data_docs/", "plans/", "managed-ledgers/", "payloads/", "messages/"}
"""Folders that exist where the program or a broker wrote, not here."""
FILE = re.compile(r"`([\w./-]+\.(?:py|sql|toml|proto|conf|yaml))(?::\d+)?`")
FOLDER = re.compile(r"`([\w./-]+/)`")
CODE = re.compile(r"`([a-z_]+(?:\.[a-z_]+)*)\.([A-Z]\w+)`")


def said(document: Path, pattern: re.Pattern[str]) -> list[str]:
    return sorted({".".join(found.groups()) for found in pattern.finditer(document.read_text())})


def ends_one_of(name: str, places: set[str]) -> bool:
    return any(place == name or place.endswith(f"/{name}") for place in places)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files_exist(document: Path) -> None:
    assert [name for name in said(document, FILE) if name not in NOT_OURS and not ends_one_of(name, FILES)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_rooms_exist(document: Path) -> None:
    named = [name for name in said(document, FOLDER) if name not in RUNTIME and not name.startswith("s3")]
    assert [name for name in named if not ends_one_of(name, FOLDERS)] == []


def found_by_newcomers() -> list[tuple[list[str], list[str]]]:
    """Files and names of each row of the table that leads newcomers."""
    table = (ROOT / "CONTRIBUTING.md").read_text().partition("## Where do I find\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in table.splitlines() if line.startswith("| ") and "`" in line]
    return [(re.findall(r"`([\w/]+\.py)`", row[-2]), re.findall(r"`(\w+)`", row[-1])) for row in rows]


@pytest.mark.parametrize(("files", "names"), found_by_newcomers(), ids="-".join)
def test_newcomers_find_it_in_two_steps(files: list[str], names: list[str]) -> None:
    """The table names the module, and the module defines the name."""
    text = "\n".join((ROOT / "lib" / "pulsar_backlog" / file).read_text() for file in files)
    assert names
    assert [name for name in names if not re.search(rf"^(class |def )?{name}\b[ (:=]", text, re.MULTILINE)] == []


def test_the_table_for_newcomers_is_read() -> None:
    assert len(found_by_newcomers()) >= 9


@pytest.mark.parametrize("path", sorted((ROOT / "docs/decisions").glob("0*.md")), ids=lambda path: path.stem)
def test_a_decision_says_when_and_whether_it_holds(path: Path) -> None:
    assert re.match(r"\*20\d\d-\d\d-\d\d · \w+", path.read_text().splitlines()[2])


def modules_of(dotted: str) -> list[str]:
    """Modules of the package that a document may mean by the end of their name."""
    ends = (f"/{dotted.replace('.', '/')}.py", f"/{dotted.replace('.', '/')}/__init__.py")
    return [name for name in FILES if name.startswith("lib/") and name.endswith(ends)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_code_is_where_documents_say(document: Path) -> None:
    missing = []
    for name in said(document, CODE):
        module, attribute = name.rsplit(".", 1)
        defined = re.compile(rf"^(class |def )?{attribute}\b", re.MULTILINE)
        modules = modules_of(module)
        if modules and not any(defined.search((ROOT / found).read_text()) for found in modules):
            missing.append(name)
    assert missing == []
