"""Pages name only what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_paths_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    links = {target.split("#")[0] for target in re.findall(r"\]\((?!https?:|#)([^)]+)\)", text)}
    assert [link for link in sorted(links) if link and not (page.parent / link).exists()] == []
    # `lib/...`, `conf/...`, `tests/...` in running text; placeholders such as jobs/<job>.py are not paths
    named = set(re.findall(r"`((?:lib|conf|jobs|tests|docs|scripts|requirements)/[\w./-]+)`", text))
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_pages_that_the_code_names_exist() -> None:
    named = {
        name for path in (ROOT / "lib").rglob("*.py") for name in re.findall(r"docs/[\w/-]+\.md", path.read_text())
    }
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
