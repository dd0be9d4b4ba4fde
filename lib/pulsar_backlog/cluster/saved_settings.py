"""Version and settings of brokers, as a snapshot saves them: `{"snapshotKind": "cluster", "version", "settings"}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_NUMBER = re.compile(r"-?\d{1,18}", re.ASCII)
_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})", re.ASCII)


@dataclass
class SavedSettings:
    """What one broker says of itself; of several files the first counts.

    Attributes:
        version: major and minor number; None when it was not saved.
        values: settings by name, as text.
    """

    version: tuple[int, int] | None = None
    values: dict[str, str] = field(default_factory=dict)

    def add(self, body: Mapping[str, object]) -> None:
        """What one document that `snapshot` saved says; nothing where it is of another kind."""
        if body.get("snapshotKind") != "cluster":
            return
        version, settings = body.get("version"), body.get("settings")
        match = _VERSION.match(version) if isinstance(version, str) else None
        if match is not None and self.version is None:
            self.version = int(match[1]), int(match[2])
        for name, value in settings.items() if isinstance(settings, dict) else ():
            self.values.setdefault(name, str(value))

    def number(self, name: str) -> int | None:
        """A setting that is a whole number; None when it was not saved, or is none."""
        text = self.values.get(name, "")
        return int(text) if _NUMBER.fullmatch(text) else None

    def flag(self, name: str) -> bool | None:
        """A setting that is true or false; None when it was not saved, or is neither."""
        return {"true": True, "false": False}.get(self.values.get(name, "").lower())
