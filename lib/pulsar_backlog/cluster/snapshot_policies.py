"""Settings and policies that decide what an audit says; everything else, secrets first, stays where it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from pulsar_backlog.cluster.admin_http import AdminError
from pulsar_backlog.cluster.admin_rest import AdminRest

SETTINGS = (
    "acknowledgmentAtBatchIndexLevelEnabled",
    "brokerDeduplicationEnabled",
    "brokerEntryMetadataInterceptors",
    "defaultRetentionSizeInMB",
    "defaultRetentionTimeInMinutes",
    "dispatcherMaxReadBatchSize",
    "dispatcherPauseOnAckStatePersistentEnabled",
    "managedCursorInfoCompressionType",
    "managedLedgerCursorPositionFlushSeconds",
    "managedLedgerInfoCompressionType",
    "managedLedgerMaxBatchDeletedIndexToPersist",
    "managedLedgerMaxUnackedRangesToPersist",
    "managedLedgerMaxUnackedRangesToPersistInMetadataStore",
    "managedLedgerPersistIndividualAckAsLongArray",
    "managedLedgerUnackedRangesOpenCacheSetEnabled",
    "maxMessageSize",
    "nettyMaxFrameSizeBytes",
    "persistentUnackedRangesMaxEntrySize",
    "persistentUnackedRangesWithMultipleEntriesEnabled",
    "subscriptionTypesEnabled",
    "ttlDurationDefaultInSeconds",
)
NAMESPACE_POLICIES = (
    "backlog_quota_map",
    "compaction_threshold",
    "deduplicationEnabled",
    "deduplicationSnapshotIntervalSeconds",
    "inactive_topic_policies",
    "message_ttl_in_seconds",
    "offload_deletion_lag_ms",
    "offload_policies",
    "offload_threshold",
    "persistence",
    "replication_clusters",
    "retention_policies",
    "subscription_expiration_time_minutes",
    "subscription_types_enabled",
)
TOPIC_POLICIES = ("retention", "messageTTL", "deduplicationEnabled", "offloadPolicies")

_SECRET = re.compile(r"credential|secret|password|token|private|accesskey|keyid", re.IGNORECASE)


def broker_settings(rest: AdminRest, missing: list[str]) -> dict[str, object]:
    """Version, clusters and settings, as far as our role may know them; adds what it may not to `missing`."""
    return {
        "version": _or_none(rest.version, missing),
        "clusters": _or_none(rest.clusters, missing),
        "settings": _or_none(lambda: _named(rest.settings(), SETTINGS), missing),
    }


def namespace_policies(rest: AdminRest, namespace: str, missing: list[str]) -> dict[str, object]:
    """Policies of a namespace; none when our role may not know them."""
    return {"policies": _or_none(lambda: _named(rest.namespace_policies(namespace), NAMESPACE_POLICIES), missing)}


def topic_policies(rest: AdminRest, topic: str) -> dict[str, object]:
    """Policies in force for a topic, null where none is set; `unknown` lists those that our role may not know.

    Raises:
        AdminError: the service does not answer.
    """
    policies: dict[str, object] = {}
    unknown = []
    for kind in TOPIC_POLICIES:
        try:
            policies[kind] = without_secret_members(rest.policy(topic, kind))
        except AdminError as error:
            if error.status is None or error.status >= 500:
                raise
            unknown.append(kind)  # 401, 403; 404 for V1 topics, whose API has none; 405 where topic policies are off
    return {**policies, "unknown": unknown}


def without_secret_members(value: object) -> object:
    """The value without the members whose names sound like a secret."""
    if isinstance(value, dict):
        return {name: without_secret_members(member) for name, member in value.items() if not _SECRET.search(name)}
    if isinstance(value, list):
        return [without_secret_members(item) for item in value]
    return value


def _named(body: Mapping[str, object], names: tuple[str, ...]) -> dict[str, object]:
    return {name: without_secret_members(body[name]) for name in names if name in body}


def _or_none(read: Callable[[], object], missing: list[str]) -> object:
    try:
        return read()
    except AdminError as error:
        missing.append(str(error))
        return None
