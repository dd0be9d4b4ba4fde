"""How long a topic keeps what is acknowledged (retention), and what is not (TTL), as a snapshot saved it.

    policies       {"snapshotKind": "policies", "topic", "retention": {"retentionTimeInMinutes", "retentionSizeInMB"},
                   "messageTTL": seconds}
    namespace      {"snapshotKind": "namespace", "namespace", "policies": {"retention_policies": the same,
                   "message_ttl_in_seconds": seconds}}
    cluster        {"snapshotKind": "cluster", "settings": {"defaultRetentionTimeInMinutes", ...SizeInMB,
                   "ttlDurationDefaultInSeconds"}}

The first that says something counts. Brokers delete a ledger once one of both bounds is passed; -1 bounds nothing. They
take messages for acknowledged that are older than the TTL; 0 is none.
Source: https://github.com/apache/pulsar/blob/492eb456/managed-ledger/src/main/java/org/apache/bookkeeper/mledger/impl/ManagedLedgerImpl.java
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_MINUTE_MS = 60_000
_MB = 1024 * 1024
_MAX_TTL = 2**31 - 1
_NAMES = ("retentionTimeInMinutes", "retentionSizeInMB")
_DEFAULTS = ("defaultRetentionTimeInMinutes", "defaultRetentionSizeInMB")


@dataclass(frozen=True)
class Retention:
    """One retention policy; a negative number bounds nothing.

    Attributes:
        minutes: after which a ledger goes, from its closing.
        megabytes: of a topic that stay; what lies before them goes.
    """

    minutes: int
    megabytes: int

    def lets_go(self, closed_ms: int | None, now_ms: int, bytes_after: int) -> bool:
        """Whether a ledger may be deleted that was closed then and has so many bytes of its topic after it."""
        is_old = self.minutes >= 0 and closed_ms is not None and closed_ms + self.minutes * _MINUTE_MS <= now_ms
        is_over = self.megabytes >= 0 and bytes_after >= self.megabytes * _MB
        return is_old or is_over


@dataclass
class SavedRetention:
    """The retention policies of a folder.

    Attributes:
        topics: by full name.
        namespaces: by `tenant/namespace`.
        default: of the broker; None when that was not saved.
        ttl_seconds: by full name of a topic, by `tenant/namespace`, and of the broker by the empty name.
    """

    topics: dict[str, Retention] = field(default_factory=dict)
    namespaces: dict[str, Retention] = field(default_factory=dict)
    default: Retention | None = None
    ttl_seconds: dict[str, int] = field(default_factory=dict)

    def of(self, topic: str) -> Retention | None:
        """The policy in force for a topic; None when nothing was saved that tells."""
        return self.topics.get(topic) or self.namespaces.get(_namespace(topic)) or self.default

    def ttl_of(self, topic: str) -> int | None:
        """The TTL in force for a topic, 0 for none; None when nothing was saved that tells."""
        names = (topic, _namespace(topic), "")
        return next((self.ttl_seconds[name] for name in names if name in self.ttl_seconds), None)

    def add(self, body: Mapping[str, object]) -> None:
        """What one document that `snapshot` saved says; nothing where it is of another kind."""
        self._add_ttl(body)
        match body:
            case {"snapshotKind": "policies", "topic": str(topic), "retention": dict(policy)}:
                _put(self.topics, topic, _retention(policy, _NAMES))
            case {
                "snapshotKind": "namespace",
                "namespace": str(name),
                "policies": {"retention_policies": dict(found)},
            }:
                _put(self.namespaces, name, _retention(found, _NAMES))
            case {"snapshotKind": "cluster", "settings": dict(settings)}:
                self.default = self.default or _retention(settings, _DEFAULTS)

    def _add_ttl(self, body: Mapping[str, object]) -> None:
        match body:
            case {"snapshotKind": "policies", "topic": str(name), "messageTTL": int(seconds)}:
                pass
            case {
                "snapshotKind": "namespace",
                "namespace": str(name),
                "policies": {"message_ttl_in_seconds": int(seconds)},
            }:
                pass
            case {"snapshotKind": "cluster", "settings": {"ttlDurationDefaultInSeconds": text}}:
                name, seconds = "", int(str(text)) if str(text).isdecimal() else -1
            case _:
                return
        if 0 <= seconds <= _MAX_TTL:
            self.ttl_seconds.setdefault(name, seconds)


def _namespace(topic: str) -> str:
    return topic.partition("://")[2].rpartition("/")[0]


def _put(policies: dict[str, Retention], name: str, policy: Retention | None) -> None:
    if policy is not None:
        policies[name] = policy


def _retention(body: Mapping[str, object], names: tuple[str, str]) -> Retention | None:
    """The policy in two numbers, which the settings of a broker have as text; None where one is missing."""
    try:
        minutes, megabytes = (int(str(body[name])) for name in names)
    except (KeyError, ValueError):
        return None
    return Retention(minutes, megabytes)
