"""Which ledgers the caller asked for: by topic, id and time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Protocol

from pulsar_backlog.wire.names import scalable_names, scalable_topic_of


class LedgerLike(Protocol):
    """A ledger copy, or a row of `ledgers`."""

    @property
    def topic(self) -> str | None:
        """Full topic name."""

    @property
    def ledger_id(self) -> int:
        """Ledger id."""

    @property
    def created_time(self) -> datetime | None:
        """When it was created, UTC."""

    @property
    def closed_time(self) -> datetime | None:
        """When it was closed, UTC."""


@dataclass(frozen=True)
class Scope:
    """A choice of ledgers; empty tuples and None choose everything.

    Attributes:
        topics: globs on full topic names, of segments and migrated topics also on that of their scalable topic;
            `persistent://` and the like may be left out; any may match.
        ledgers: inclusive ranges of ids; any may match.
        since: first instant wanted, inclusive.
        until: first instant not wanted any more.
        migrated: scalable topics by topics, or partitions, that were migrated to them, as far as layouts tell.
    """

    topics: tuple[str, ...] = ()
    ledgers: tuple[tuple[int, int], ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    migrated: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        return not (self.topics or self.ledgers or self.since or self.until)

    def holds(self, copy: LedgerLike) -> bool:
        """Whether the copy may hold what was asked for; an unknown time may."""
        return self.names(copy.topic) and self.holds_id(copy.ledger_id) and self._time(copy)

    def names(self, topic: str | None) -> bool:
        """Whether a topic is one of those asked for."""
        if not self.topics:
            return True
        full = () if topic is None else (topic, scalable_topic_of(topic) or self.migrated.get(topic) or topic)
        names = {name for one in full for name in (one, one.partition("://")[2])}
        return any(fnmatchcase(name, glob) for name in names for glob in self.topics)

    def may_name(self, topic: str | None) -> bool:
        """Whether it is one of those asked for, or would be if it was migrated, which only layouts tell."""
        names = () if topic is None else scalable_names(topic)
        return self.names(topic) or any(fnmatchcase(name, glob) for name in names for glob in self.topics)

    def holds_id(self, ledger_id: int) -> bool:
        """Whether a ledger id is one of those asked for."""
        return not self.ledgers or any(first <= ledger_id <= last for first, last in self.ledgers)

    def _time(self, copy: LedgerLike) -> bool:
        created, closed = copy.created_time, copy.closed_time
        begins_late = self.until is not None and created is not None and created >= self.until
        ends_early = self.since is not None and closed is not None and closed < self.since
        return not begins_late and not ends_early
