"""Which model of a broker and which read batch a cluster has: by its own settings, else by its version.

| version | model | `dispatcherMaxReadBatchSize` |
|---|---|---|
| 4.0 | 4.0 | 100 |
| 4.2 and later 4 | 4.2 | 100 |
| 5.0 and later | 5.0 | 500 (5.0.0-M1: 100) |
| others | 4.0, the nearest that was recorded | 100 |
| not saved | 4.0 | not known: 100 and 500 are both played |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pulsar_backlog.chunks.dispatch.settings import READ_BATCHES, BrokerLine
from pulsar_backlog.cluster.saved_settings import SavedSettings

READ_BATCH_SETTING = "dispatcherMaxReadBatchSize"
BrokerFrom = Literal["options", "settings", "version", "assumed"]
"""Whose word something is."""


@dataclass(frozen=True)
class PlayedBroker:
    """What is played of a cluster.

    Attributes:
        line: release line of the model.
        line_from: whose word that is.
        read_batches: what one read takes at most; several where it is not known.
        batch_from: whose word that is.
    """

    line: BrokerLine
    line_from: BrokerFrom
    read_batches: tuple[int, ...]
    batch_from: BrokerFrom

    @property
    def words(self) -> str:
        """Both, and how they are known."""
        batches = " or ".join(f"{one:,}" for one in self.read_batches)
        line = f"broker {self.line}" + (" (assumed: no version that is modelled was saved)" if self._is_guess else "")
        source = {"settings": "as its settings say", "assumed": "not known: both were played"}.get(self.batch_from, "")
        return f"{line}, reads of {batches} entries at most" + (f" ({source})" if source else "")

    @property
    def _is_guess(self) -> bool:
        return self.line_from == "assumed"


def broker_for(saved: SavedSettings, line: BrokerLine | None = None) -> PlayedBroker:
    """What is played.

    Args:
        saved: what a snapshot says of the brokers.
        line: release line that the user names: its defaults hold then, whatever the cluster's are.
    """
    if line is not None:
        return PlayedBroker(line, "options", (READ_BATCHES[line],), "options")
    model = _line(saved.version)
    setting = saved.number(READ_BATCH_SETTING)
    line = model or "4.0"
    line_from: BrokerFrom = "version" if model else "assumed"
    if setting is not None and setting > 0:
        return PlayedBroker(line, line_from, (setting,), "settings")
    if saved.version is not None:
        return PlayedBroker(line, line_from, (READ_BATCHES[line],), "version")
    return PlayedBroker(line, line_from, tuple(sorted(set(READ_BATCHES.values()))), "assumed")


def _line(version: tuple[int, int] | None) -> BrokerLine | None:
    if version is None:
        return None
    if version >= (5, 0):
        return "5.0"
    if version >= (4, 2):
        return "4.2"
    return "4.0" if version == (4, 0) else None
