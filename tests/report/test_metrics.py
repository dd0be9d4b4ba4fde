"""The numbers of an audit: read back by Prometheus' own parser; bounded, with the rest summed."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from pulsar_backlog.report.comparison_metrics import comparison_exposition
from pulsar_backlog.report.metrics import Numbers, exposition
from tests.report.sample_comparison import differing_clusters

ROOT = Path(__file__).parents[2]
HOSTILE = 'persistent://t/n/"a\\b"\nc'
SUBSCRIPTION: dict[str, Any] = {"topic": HOSTILE, "subscription": "s", "stalled": 1, "backlog_entries": 5,
    "backlog_bytes": None, "oldest_ms": 4_000, "oldest_broker_ms": 7_000}  # fmt: skip
NUMBERS = Numbers(
    cluster="c", at_ms=10_000, seconds=1.5, exit_code=1, read_bytes=7, entries=9,
    subscriptions=[
        SUBSCRIPTION, {**SUBSCRIPTION, "topic": None, "subscription": None, "stalled": 3, "oldest_ms": None,
            "oldest_broker_ms": None},
    ],
    topics=[
        {"topic": None, "is_rest": False, "broken": 1, "lost": 1, "rebuildable": 0},
        {"topic": None, "is_rest": True, "broken": 4, "lost": 2, "rebuildable": 1},
    ],
    totals=[{"code": "C06", "severity": "error", "incomplete": True, "findings": 2, "count": 3}],
    changes=[
        {"change": "new", "severity": "error", "is_acknowledged": False, "problems": 2, "compared_ms": 1},
        {"change": "new", "severity": "error", "is_acknowledged": True, "problems": 40, "compared_ms": 1},
    ],
)  # fmt: skip


def series(numbers: Numbers) -> dict[tuple[str, ...], float]:
    return {
        (
            sample.name.removeprefix("pulsar_backlog_"),
            *(v for k, v in sorted(sample.labels.items()) if k != "cluster"),
        ): sample.value
        for family in text_string_to_metric_families(exposition(numbers))
        for sample in family.samples
    }


def test_what_is_written_is_read_back() -> None:
    read = series(NUMBERS)
    assert read["subscription_stalled", "s", HOSTILE] == 1
    assert read["subscription_stalled", "(others)", "(others)"] == 3
    assert read["subscription_oldest_unacknowledged_age_seconds", "s", HOSTILE] == 6
    assert read["subscription_oldest_unacknowledged_broker_age_seconds", "s", HOSTILE] == 3
    assert ("subscription_oldest_unacknowledged_broker_age_seconds", "(others)", "(others)") not in read
    assert ("subscription_backlog_bytes", "s", HOSTILE) not in read, "not known is not zero"
    assert (read["topic_lost_messages", "(unknown)"], read["topic_lost_messages", "(others)"]) == (1, 2)
    assert (read["problems", "new", "error"], read["problems", "healed", "warning"]) == (2, 0)
    assert (read["audit_exit_code",], read["unread_findings",], read["findings", "error"]) == (1, 2, 2)


def test_an_age_is_never_negative() -> None:
    late = replace(NUMBERS, subscriptions=[SUBSCRIPTION | {"oldest_ms": 20_000}])
    assert series(late)["subscription_oldest_unacknowledged_age_seconds", "s", HOSTILE] == 0


@pytest.mark.parametrize("name", ["alerts.yml", "grafana-dashboard.json"])
def test_rules_and_dashboard_name_series_that_there_are(name: str) -> None:
    path = ROOT / "conf" / "monitoring" / name
    read = json.loads(path.read_text()) if name.endswith("json") else yaml.safe_load(path.read_text())
    written = {family.name for family in text_string_to_metric_families(exposition(NUMBERS))}
    named = set(re.findall(r"pulsar_backlog_\w+", json.dumps(read)))
    assert named
    assert named <= written | {"pulsar_backlog_subscription_backlog_bytes"}  # which is not known of the rows above


def test_each_series_is_documented() -> None:
    of_audits, of_comparisons = (ROOT / "docs" / "monitoring.md").read_text().split("`pulsar-backlog compare")
    documented = [set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) for text in (of_audits, of_comparisons)]
    assert documented[0] == {name for name, *_ in series(NUMBERS)} | {"subscription_backlog_bytes"}
    model = differing_clusters()
    text = comparison_exposition("eu", 0, 0, model.topics, model.subscriptions)
    names = {one.name.removeprefix("pulsar_backlog_") for one in text_string_to_metric_families(text)}
    assert documented[1] == names
