"""Commands that pages show: every line of a code block that calls the program or make."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHELL = ("", "console", "sh")
"""Languages of blocks that hold commands."""
_CALL = re.compile(r"(?:\$ )?((?:pulsar-backlog|make)(?: .*)?)\Z")


@dataclass(frozen=True)
class Example:
    """A command as a page shows it, without prompt and comment."""

    page: str
    line: str

    @property
    def words(self) -> list[str]:
        return shlex.split(self.line)


def examples(pages: list[Path]) -> list[Example]:
    """The commands of pages, in order; a line that ends on a backslash goes on."""
    found = []
    for page in pages:
        blocks = (text for language, text in _BLOCK.findall(page.read_text()) if language in _SHELL)
        for block in blocks:
            for line in block.replace("\\\n", " ").splitlines():
                if call := _CALL.match(line):
                    found.append(Example(page.name, re.sub(r" +#.*", "", call[1]).strip()))
    return found
