"""What mkdocs has to know of this repository: its first page is README.md, and some links lead out of docs/."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def on_files(files: Any, config: Any) -> Any:
    """Put README.md in front, as a page of docs/."""
    text = _LINK.sub(lambda found: f"{found[1]}[{found[2]}]({_from_docs(found[3])})", (ROOT / "README.md").read_text())
    files.append(File.generated(config, "index.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """A link to a file of the repository that is no page becomes its words."""
    folder = (ROOT / "docs" / page.file.src_uri).parent

    def shown(found: re.Match[str]) -> str:
        target = found[3].partition("#")[0]
        if not target or "://" in target or (folder / target).resolve().is_relative_to(ROOT / "docs"):
            return found[0]
        return found[2]

    return _LINK.sub(shown, markdown)


def _from_docs(target: str) -> str:
    if "://" in target or target.startswith("#"):
        return target
    return target.removeprefix("docs/") if target.startswith("docs/") else f"../{target}"
