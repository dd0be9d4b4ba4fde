"""Which retention policy is in force for a topic, from what a snapshot saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.cluster.retention import Retention
from tests.cluster.test_admin_json import LIVE, write

TOPIC = "persistent://lab/s3/a"


def policy(minutes: object, megabytes: object) -> dict[str, object]:
    return {"retentionTimeInMinutes": minutes, "retentionSizeInMB": megabytes}


CLUSTER = {
    "snapshotKind": "cluster",
    "settings": {"defaultRetentionTimeInMinutes": "7", "defaultRetentionSizeInMB": "-1"},
}
NAMESPACE = {"snapshotKind": "namespace", "namespace": "lab/s3", "policies": {"retention_policies": policy(5, 6)}}
OF_TOPIC = {"snapshotKind": "policies", "topic": TOPIC, "retention": policy(3, 4)}


@pytest.mark.parametrize(
    ("saved", "found"),
    [
        pytest.param([CLUSTER, NAMESPACE, OF_TOPIC], Retention(3, 4), id="the topic's own"),
        pytest.param([CLUSTER, NAMESPACE], Retention(5, 6), id="the namespace's"),
        pytest.param([CLUSTER, {**NAMESPACE, "namespace": "lab/other"}], Retention(7, -1), id="the broker's default"),
        pytest.param([{**OF_TOPIC, "retention": None}, NAMESPACE], Retention(5, 6), id="the topic has none"),
        pytest.param([{**OF_TOPIC, "retention": {"retentionSizeInMB": 1}}], None, id="half a policy"),
        pytest.param([{**OF_TOPIC, "retention": policy("x", [])}], None, id="no numbers"),
        pytest.param([{**NAMESPACE, "policies": None}], None, id="a namespace whose policies we may not know"),
        pytest.param([{**CLUSTER, "settings": None}], None, id="settings we may not know"),
        pytest.param([], None, id="nothing saved"),
    ],
)
def test_the_policy_in_force(tmp_path: Path, saved: list[dict[str, Any]], found: Retention | None) -> None:
    write(tmp_path, {"live.json": LIVE, **{f"{number}.json": body for number, body in enumerate(saved)}})
    state = read_cluster_state(tmp_path, {})
    assert state.findings == ()
    assert state.retention.of(TOPIC) == found


TTL_OF_CLUSTER = {"snapshotKind": "cluster", "settings": {"ttlDurationDefaultInSeconds": "9"}}
TTL_OF_NAMESPACE = {"snapshotKind": "namespace", "namespace": "lab/s3", "policies": {"message_ttl_in_seconds": 60}}
TTL_OF_TOPIC = {"snapshotKind": "policies", "topic": TOPIC, "messageTTL": 0}


@pytest.mark.parametrize(
    ("saved", "found"),
    [
        pytest.param([TTL_OF_CLUSTER, TTL_OF_NAMESPACE, TTL_OF_TOPIC], 0, id="the topic's own: none expires"),
        pytest.param([TTL_OF_CLUSTER, TTL_OF_NAMESPACE], 60, id="the namespace's"),
        pytest.param([TTL_OF_CLUSTER, {**TTL_OF_NAMESPACE, "namespace": "lab/other"}], 9, id="the broker's default"),
        pytest.param([{**TTL_OF_TOPIC, "messageTTL": None}, TTL_OF_NAMESPACE], 60, id="the topic has none"),
        pytest.param([{**TTL_OF_TOPIC, "messageTTL": 1 << 40}], None, id="longer than brokers allow"),
        pytest.param([{**TTL_OF_CLUSTER, "settings": {"ttlDurationDefaultInSeconds": "x"}}], None, id="no number"),
        pytest.param([], None, id="nothing saved"),
    ],
)
def test_the_time_to_live_in_force(tmp_path: Path, saved: list[dict[str, Any]], found: int | None) -> None:
    write(tmp_path, {"live.json": LIVE, **{f"{number}.json": body for number, body in enumerate(saved)}})
    state = read_cluster_state(tmp_path, {})
    assert state.retention.ttl_of(TOPIC) == found
