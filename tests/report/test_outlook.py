"""What a report says of a stalled subscription is what `forecast` says of the same consumers and entries."""

from __future__ import annotations

import pytest

from pulsar_backlog.chunks.dispatch.brokers import broker_for
from pulsar_backlog.chunks.dispatch.forecast import StoredEntry
from pulsar_backlog.cluster.saved_settings import SavedSettings
from pulsar_backlog.options.printed import Run
from pulsar_backlog.report.acks import SubscriptionFacts, TopicAcks
from pulsar_backlog.report.acks_view import subscription_views
from pulsar_backlog.report.outlook import MAX_CONSUMERS, consumer_words, outlook_of
from tests.report.sample_consumers import subscription

OLD = broker_for(SavedSettings((4, 0)))
OPEN = [StoredEntry("A", 0, 3, None), StoredEntry("A", 1, 3, None), StoredEntry("", None, None, None)]
HEADLESS = [StoredEntry("A", 1, 2, None), StoredEntry("B", 0, 2, None), StoredEntry("B", 1, 2, None)]
WHOLE = [StoredEntry("A", 0, 2, None), StoredEntry("A", 1, 2, None)]


@pytest.mark.parametrize(
    ("clients", "connected", "words"),
    [
        (["Pulsar-Java-v4.2.4", "Pulsar-Java-v4.2.4", "Pulsar-CPP-v3.7.0"], 3, ("java 4.2 x 2, cpp 3.7", "saved")),
        (["Pulsar Go 0.19.0"], 1, ("go 0.19", "saved")),
        (["Pulsar-Java-v4.2.4", None], 2, ("java 4.2 x 2", "assumed")),
        (["a client of their own 1.0"], 1, ("java 4.2", "assumed")),
        ([], 0, ("java 4.2", "assumed")),
        ([], None, ("java 4.2", "assumed")),
        ([], 5_000, (f"java 4.2 x {MAX_CONSUMERS}", "assumed")),
    ],
)
def test_consumers_are_those_that_were_connected(
    clients: list[str | None], connected: int | None, words: tuple[str, str]
) -> None:
    assert consumer_words(clients, connected) == words


def test_what_stays_whatever_is_done_is_said() -> None:
    found = outlook_of(HEADLESS, ("java 4.2 x 2", "saved"), OLD, "Shared")
    assert found.verdict.startswith("It does not drain: 1 entry stays")
    assert [stage["event"] for stage in found.stages][:3] == ["connect", "unload", "restart"]
    assert found.stages[0]["words"][0] == "1 delivery; 1 entry stays"
    assert found.stages[0]["words"][1] == "never delivered in any play: A"


def test_where_it_drains_no_remedy_is_tried() -> None:
    found = outlook_of(WHOLE, ("java 4.2", "assumed"), OLD, "Exclusive")
    assert (found.verdict, found.remedy, len(found.stages)) == ("It drains.", None, 1)


def test_a_loss_that_java_causes_is_said() -> None:
    """An open message expires after a minute: Java acknowledges what it has of it."""
    found = outlook_of(OPEN, ("java 4.2", "saved"), OLD, "Exclusive")
    assert "1 message is lost" in found.verdict
    assert any("acknowledged though never delivered" in words for words in found.stages[0]["words"])


def test_the_page_says_it() -> None:
    outlook = outlook_of(HEADLESS, ("java 4.2 x 2", "assumed"), OLD, "Shared")
    facts = SubscriptionFacts(subscription("s", backlog_entries=3), outlook=outlook)
    (view,) = subscription_views(TopicAcks(None, (facts,), 1, 1), "t", Run("s3://b", "./out"))
    words = dict(view.details)
    assert words["Forecast"] == outlook.verdict
    assert "3 entries and these consumers, which connect again: java 4.2 x 2 (assumed:" in words["Forecast of"]
    assert words["When they have connected"].startswith("1 delivery; 1 entry stays")
    assert "Remedy: unload" in words
