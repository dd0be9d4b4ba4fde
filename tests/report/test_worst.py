"""Which subscription is told first: the worst, and the worst that commands put right."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pulsar_backlog.report.acks import Acks, BlockedRow, SubscriptionFacts, TopicAcks
from pulsar_backlog.report.model import ReportModel
from pulsar_backlog.report.verdict import judge
from pulsar_backlog.subscriptions.advice import HOW, LABELS, Need, NeedCount, advice_on
from tests.report.page_reader import front
from tests.report.sample_consumers import stall, subscription
from tests.report.sample_models import clean
from tests.report.sample_parts import group, section

BLOCKED, OTHER = "persistent://a/b/blocked", "persistent://a/b/other"


def stuck(name: str, need: Need, at: tuple[int, int], blocks: bool) -> SubscriptionFacts:
    """A subscription with a chunk set."""
    found = stall(name, at, need=need, blocks_dispatch=blocks)
    advice = advice_on([NeedCount(need, 1, blocks, 1)])
    return SubscriptionFacts(
        subscription(name, stalls=1), at if blocks else None, "likely" if blocks else None, (), (found,), 1, advice
    )


def model(worst: Need, other: Need) -> ReportModel:
    """A subscription that is blocked, and another one with a chunk set."""
    blocked, second = stuck("worst", worst, (1, 0), True), stuck("second", other, (2, 0), False)
    row = BlockedRow(BLOCKED, "worst", "Shared", 1, 0, "likely", blocked.advice, "export_then_acknowledge", 5, 9000)
    return replace(
        clean(),
        acks=Acks(2, 2, 1, (row,), {"likely": 1}),
        topics=(
            section(BLOCKED, 1, 5, 5, acks=TopicAcks(None, (blocked,), 1, 1)),
            section(OTHER, 2, 5, 5, acks=TopicAcks(None, (second,), 1, 0)),
        ),
    )


def told(given: ReportModel) -> list[tuple[str | None, str]]:
    """Of each step the subscription, and what follows the names in its command."""
    chosen = {"export": lambda words: "", "repair": lambda words: words.partition("--subscription ")[2],
        "explain": lambda words: words.rpartition(" ")[2]}  # fmt: skip
    found = []
    for step in judge(given).steps:
        verb = step.command.split()[1]
        found.append((step.subscription, f"{verb} {chosen[verb](step.command)}".strip()))
    return found


@pytest.mark.parametrize(
    ("need", "commands"),
    [
        ("export", ["export", "repair worst"]),
        ("acknowledge", ["repair worst"]),
        ("reset", ["repair worst"]),
    ],
)
def test_what_commands_put_right_is_told_alone(need: Need, commands: list[str]) -> None:
    assert told(model(need, "export")) == [("worst", command) for command in commands]


@pytest.mark.parametrize(
    ("need", "commands"),
    [
        # No export verifies it: a person may give it up, and the command says which.
        ("keep", ["export", "repair worst --give-up 1:0"]),
        ("settle", ["explain 1:0", "repair worst --accept-unsure likely"]),
        ("wait", ["explain 1:0"]),
    ],
)
def test_where_it_takes_a_decision_another_follows_that_commands_put_right(need: Need, commands: list[str]) -> None:
    own: list[tuple[str | None, str]] = [("worst", command) for command in commands]
    assert told(model(need, "export")) == [*own, ("second", "export"), ("second", "repair second")]
    assert told(model(need, "settle")) == own
    first = judge(model(need, "export")).steps[0]
    assert first.advice is not None
    assert (first.advice.label, first.advice.how) == (LABELS[need], HOW[need])


def test_a_subscription_that_is_not_drawn_is_told_by_its_first_entry() -> None:
    given = model("keep", "wait")
    assert told(replace(given, topics=())) == [("worst", "export"), ("worst", "repair worst --give-up 1:0")]


def test_dead_chunks_that_block_nobody_name_a_subscription_and_offer_a_plan() -> None:
    facts = SubscriptionFacts(
        subscription("billing", stalls=0), stalls=(stall("u", (4, 6), need="settle", blocks_dispatch=False),),
        stall_total=89, advice=advice_on([NeedCount("settle", 89, False, 1)]),
    )  # fmt: skip
    given = replace(
        clean(), groups=(group("gap", 89),),
        topics=(section(OTHER, 4, 5, 5, acks=TopicAcks(None, (facts,), 1, 0)),),
    )  # fmt: skip
    verdict = judge(given)
    assert verdict.headline.endswith(f"Subscription billing of topic {OTHER} keeps 89 chunk sets.")
    assert told(given) == [("billing", "explain 4:6"), ("billing", "repair billing --accept-unsure likely")]


def test_a_clean_report_does_not_ask_a_live_source_for_offloaded_ledgers() -> None:
    for source, words in (
        ("s3://b/p", "when more ledgers have been offloaded"),
        ("pulsar://b:6650", "have done since"),
    ):
        assert words in front(replace(clean(), source=source)), source


def test_without_anything_stuck_nothing_is_told() -> None:
    assert judge(clean()).steps == ()
