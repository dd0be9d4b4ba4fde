"""How long a topic keeps what all subscriptions have acknowledged, by the policies that a snapshot saved.

    policies       {"snapshotKind": "policies", "topic", "retention": {"retentionTimeInMinutes", "retentionSizeInMB"}}
    namespace      {"snapshotKind": "namespace", "namespace", "policies": {"retention_policies": the same}}
    cluster        {"snapshotKind": "cluster", "settings": {"defaultRetentionTimeInMinutes", ...SizeInMB}}

The first that says something counts. Brokers delete a ledger once one of both bounds is passed; -1 bounds nothing.
Source: https://github.com/apache/pulsar/blob/492eb456/managed-ledger/src/main/java/org/apache/bookkeeper/mledger/impl/ManagedLedgerImpl.java
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_MINUTE_MS = 60_000
_MB = 1024 * 1024
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
    """

    topics: dict[str, Retention] = field(default_factory=dict)
    namespaces: dict[str, Retention] = field(default_factory=dict)
    default: Retention | None = None

    def of(self, topic: str) -> Retention | None:
        """The policy in force for a topic; None when nothing was saved that tells."""
        namespace = topic.partition("://")[2].rpartition("/")[0]
        return self.topics.get(topic) or self.namespaces.get(namespace) or self.default

    def add(self, body: Mapping[str, object]) -> None:
        """What one document that `snapshot` saved says; nothing where it is of another kind."""
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
