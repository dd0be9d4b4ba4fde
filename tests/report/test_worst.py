"""Which subscription is told first: the worst, and the worst that commands put right."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pulsar_backlog.report.acks import Acks, BlockedRow, SubscriptionFacts, TopicAcks
from pulsar_backlog.report.model import ReportModel
from pulsar_backlog.report.verdict import NO_COMMAND, judge
from pulsar_backlog.report.worst import first_to_do
from tests.report.sample_consumers import stall, subscription
from tests.report.sample_models import clean
from tests.report.sample_parts import publication, section

BLOCKED, OTHER = "persistent://a/b/blocked", "persistent://a/b/other"


def model(flags: list[str], **other: Any) -> ReportModel:
    """A subscription that a message with these flags blocks, and another one with a chunk set."""
    blocking = SubscriptionFacts(subscription("worst", stalls=1), (1, 0), "likely", (), (stall("m", (1, 0)),), 1)
    facts = {"action": "export_then_acknowledge", "blocks_dispatch": False} | other
    waiting = SubscriptionFacts(subscription("second", stalls=1), None, None, (), (stall("w", (2, 0), **facts),), 1)
    row = BlockedRow(BLOCKED, "worst", "Shared", 1, 0, "likely", "", "export_then_acknowledge", 5, 9000)
    return replace(
        clean(),
        acks=Acks(2, 2, 1, (row,), {"likely": 1}),
        topics=(
            section(BLOCKED, 1, 5, 5, acks=TopicAcks(None, (blocking,), 1, 1),
                broken=(publication("m", "whole", flags=flags, publish_time_ms=1),)),
            section(OTHER, 2, 5, 5, acks=TopicAcks(None, (waiting,), 1, 0),
                broken=(publication("w", "orphan_prefix", publish_time_ms=1),)),
        ),
    )  # fmt: skip


def test_what_commands_put_right_is_told_alone() -> None:
    assert [one.subscription for one in first_to_do(model([]))] == ["worst"]


@pytest.mark.parametrize("flag", ["sizes_lie", "decode_fault", "metadata_conflict"])
def test_a_message_that_contradicts_itself_is_said_to_be_out_of_reach_and_another_follows(flag: str) -> None:
    found = first_to_do(model([flag]))
    assert [(one.subscription, one.contradicts) for one in found] == [("worst", True), ("second", False)]
    steps = judge(model([flag])).steps
    assert steps[0].command.split()[1] == "explain"
    assert NO_COMMAND in steps[0].changes
    assert [(step.command.split()[1], step.subscription) for step in steps[1:3]] == [
        ("export", "second"), ("repair", "second"),
    ]  # fmt: skip
    assert not any(NO_COMMAND in step.changes for step in steps[1:])


@pytest.mark.parametrize(
    ("other", "sureness", "named"),
    [
        ({"action": "acknowledge"}, "certain", True),
        ({"action": "acknowledge"}, "likely", False),  # a plan holds back what is not certain to be lost
        ({"action": "wait"}, "certain", False),
        ({"action": "export_then_acknowledge"}, "likely", True),
    ],
)
def test_only_what_a_plan_would_do_follows(other: dict[str, str], sureness: str, named: bool) -> None:
    given = model(["sizes_lie"], **other)
    first, second = given.topics
    second = replace(second, broken=(publication("w", "orphan_prefix", publish_time_ms=1, sureness=sureness),))
    found = first_to_do(replace(given, topics=(first, second)))
    assert [one.subscription for one in found] == ["worst", "second"][: 1 + named]


def test_malformed_messages_are_left_to_a_person() -> None:
    given = model(["sizes_lie"])
    first, second = given.topics
    second = replace(second, broken=(publication("w", "malformed", publish_time_ms=1),))
    assert len(first_to_do(replace(given, topics=(first, second)))) == 1
