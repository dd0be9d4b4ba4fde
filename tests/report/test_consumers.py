"""What clients do with broken messages, in words; and the verdict that names the worst of it first."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from pulsar_backlog.chunks.clients.events import DamageKind
from pulsar_backlog.chunks.clients.outcomes import OutcomeWord
from pulsar_backlog.report.acks import Acks
from pulsar_backlog.report.clients import (
    DAMAGE,
    DAMAGE_SHORT,
    DANGEROUS,
    OUTCOMES,
    Example,
    columns,
    sentences,
)
from pulsar_backlog.report.result import result_json
from pulsar_backlog.report.verdict import judge, topic_line
from pulsar_backlog.tables.client_forecasts import OUTCOME_COUNTS
from tests.report.page_reader import PageReader, front
from tests.report.sample_consumers import all_acks, blocked_acks, forecast, model_sums, topic_clients
from tests.report.sample_models import clean, lab
from tests.report.sample_parts import finding, group, totals

TOPIC = "persistent://lab/s3/t"
DOCS = Path(__file__).parents[2] / "docs/result.md"


def test_every_outcome_and_damage_has_words() -> None:
    assert set(OUTCOMES) == set(get_args(OutcomeWord)) == set(OUTCOME_COUNTS)
    assert set(DANGEROUS) <= set(OUTCOMES)
    assert set(DAMAGE) == set(DAMAGE_SHORT) == set(get_args(DamageKind))


def test_sentences_begin_with_what_stops_a_client() -> None:
    clients = topic_clients()
    lost = [Example("python", "lost", 3, 9, 1, "certain", "")]
    told = sentences(replace(clients, examples=(*clients.examples, *lost)))
    assert [(one.model, one.text) for one in told] == [
        (
            "java",
            "at 13:3 loses its connection, reconnects and receives the entry again, for ever; "
            "1 message behind it is not delivered",
        ),
        ("go", "acknowledges 1 message without delivering, though whole in the log (at 13:3)"),
        (
            "python",
            "does not deliver 3 messages, though whole in the log, and leaves the entries in the backlog "
            "(the first at 9:1)",
        ),
    ]


def test_columns_are_the_outcomes_that_occur() -> None:
    assert columns((forecast("java", delivered=0), forecast("go", delivered=0, mixed=1))) == ("delivered", "mixed")


def test_table_of_clients_has_a_row_for_each_model() -> None:
    article = next(
        a for a in PageReader(front(lab())).root.all("article") if "brk2-bad-zstd" in a.all("h3")[0].full_text()
    )
    (table,) = [t for t in article.all("table") if t.attrs.get("class") == "stack clients"]
    assert [th.full_text() for th in table.all("thead")[0].all("th")] == [
        "Client", "delivered", "silent loss", "blocked", "breaks client",
    ]  # fmt: skip
    rows = [[cell.text.strip() for cell in tr.children] for tr in table.all("tbody")[0].all("tr")]
    assert rows == [["java", "1", "0", "1", "1"], ["go", "2", "1", "0", "0"]]


@pytest.mark.parametrize(
    ("sureness", "words"),
    [
        ("certain", "Subscription billing of topic {} is stalled at 13:3"),
        ("likely", "Subscription billing of topic {} is most likely stalled at 13:3"),
        ("cannot_tell", "Subscription billing of topic {} may be stalled at 13:3"),
        ("of a newer version", "Subscription billing of topic {} may be stalled at 13:3"),
    ],
)
def test_verdict_names_the_blocked_subscription_as_surely_as_it_is(sureness: str, words: str) -> None:
    row = replace(all_acks(TOPIC).rows[0], sureness=sureness)
    verdict = judge(replace(clean(), acks=Acks(4, 1, 1, (row,))))
    assert verdict.grade == "broken"
    assert verdict.headline == f"{words.format(TOPIC)}."
    assert ": nothing behind it is delivered, 5 entries (8.8 KiB) wait" in verdict.facts[0].what
    assert verdict.facts[0].kind == "blocked"


@pytest.mark.parametrize(
    ("first", "by", "words"),
    [
        ("likely", {"likely": 21}, "are most likely stalled"),
        ("likely", {"likely": 13, "cannot_tell": 8}, "are stalled (13 likely, 8 possible)"),
        ("certain", {"certain": 1, "likely": 20}, "are stalled (1 certain, 20 likely)"),
        ("cannot_tell", {"cannot_tell": 21}, "may be stalled"),
        ("certain", {}, "are stalled"),
        ("likely", {"likely": 20}, "are stalled (20 likely, 1 possible)"),  # of one nothing is said
    ],
)
def test_all_are_counted_by_how_sure_it_is_and_the_worst_is_named(first: str, by: dict[str, int], words: str) -> None:
    row = replace(all_acks(TOPIC).rows[0], sureness=first)
    verdict = judge(replace(clean(), acks=Acks(40, 30, 21, (row,), by)))
    fact = verdict.facts[0]
    assert verdict.headline == f"21 subscriptions {words}. Worst: {TOPIC}, billing, at 13:3."
    assert fact.what == f"{verdict.headline[:-1]}, 5 entries (8.8 KiB) wait"
    told = sum(int(number.replace(",", "")) for number in re.findall(r"\bfor ([\d,]+)", fact.sureness or ""))
    assert told in (0, 21)


def test_blocked_comes_before_lost_messages_and_counts_the_others() -> None:
    model = replace(clean(), acks=all_acks(TOPIC), groups=(group("gap", 2),))
    assert judge(model).headline == (f"2 subscriptions are stalled. Worst: {TOPIC}, billing, at 13:3.")


def test_clients_that_stop_or_mislead_are_told_instead_of_their_codes() -> None:
    rows = [finding(code, TOPIC, "m", topic=TOPIC) for code in ("C41", "C21", "C40")]
    model = replace(clean(), findings=tuple(rows), finding_totals=totals(rows))
    assert any("C41" in fact.what for fact in judge(model).facts)
    told = judge(replace(model, clients=model_sums(TOPIC)))
    assert told.headline == (
        "Topic persistent://lab/s3/multi-chunk: java clients stop on 1 topic (certain), and 1 other kind of error."
    )
    assert "java loses its connection" in told.facts[0].meaning
    assert f"at 13:3 of {TOPIC}" in told.facts[0].meaning


def test_models_that_harm_nothing_are_not_told() -> None:
    harmless = tuple(replace(one, counts={"delivered": 9}, stopped=0, damage=None) for one in model_sums(TOPIC))
    assert judge(replace(clean(), clients=harmless)).grade == "clean"


def test_line_of_a_topic() -> None:
    section = replace(clean().topics[0], acks=blocked_acks(), clients=topic_clients())
    assert topic_line(section) == (
        "broken",
        "subscription billing is stalled at 13:3: nothing behind it is delivered. Java reconnects for ever at 13:3, "
        "clients would fail to deliver up to 1 whole message, without an error",
    )


def test_result_names_subscriptions_and_clients() -> None:
    result = json.loads(json.dumps(result_json(lab())))
    assert result["verdict"]["facts"][0]["kind"] == "blocked"
    assert {name: result["subscriptions"][name] for name in ("total", "stalled", "blocked", "listed")} == {
        "total": 40, "stalled": 3, "blocked": 2, "listed": 2,
    }  # fmt: skip
    assert result["subscriptions"]["rows"][0]["subscription"] == "billing"
    assert [(one["model"], one["stopped_topics"]) for one in result["clients"]] == [("go", 0), ("java", 1)]
    topic = next(row for row in result["topics"]["rows"] if row["topic"].endswith("brk2-bad-zstd"))
    billing = topic["subscriptions"]["rows"][0]
    assert billing["blocked_at"] == {"ledger_id": 13, "entry_id": 3}
    assert billing["redelivered_entries"] == 3
    assert billing["chunk_sets"]["total"] == 9
    assert billing["chunk_sets"]["rows"][0]["action"] == "export_then_acknowledge"
    assert topic["clients"][1]["examples"][0]["outcome"] == "silent_loss"


def test_fields_of_subscriptions_and_clients_are_documented() -> None:
    documented = set(re.findall(r"`([a-z_]+)`", DOCS.read_text()))
    result = result_json(lab())
    assert set(result["subscriptions"]) <= documented  # type: ignore[call-overload]
    assert set(result["subscriptions"]["rows"][0]) <= documented  # type: ignore[index]
    assert set(result["clients"][0]) - set(OUTCOMES) <= documented  # type: ignore[index]
