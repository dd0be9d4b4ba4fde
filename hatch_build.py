"""Writes the commit that a wheel is built from into it, for `pulsar-backlog --version`."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):
    """Puts `commit.txt` beside `versions.py`; it is empty where the sources lie in no checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before the wheel is packed."""
        sys.path.insert(0, str(Path(self.root, "lib")))
        from pulsar_backlog.versions import build_commit  # noqa: PLC0415 - found only now

        with NamedTemporaryFile("w", prefix="commit-", suffix=".txt", delete=False, encoding="utf-8") as file:
            file.write(build_commit() or "")
        self._written = Path(file.name)
        build_data["force_include"][file.name] = "pulsar_backlog/commit.txt"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """When it is packed."""
        self._written.unlink(missing_ok=True)
