"""The report of a comparison: both sides, what differs, what to do; and its numbers for Prometheus."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import pairwise

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pulsar_backlog.findings import CATALOGUE
from pulsar_backlog.report.comparison_metrics import comparison_exposition
from pulsar_backlog.report.comparison_page import MAX_TOPICS_IN_FULL, render_comparison
from pulsar_backlog.report.metrics import BOUND, OTHERS
from tests.report.page_reader import Element, PageReader
from tests.report.sample_comparison import (
    ORDERS,
    SAME,
    compared_subscription,
    compared_topic,
    comparison,
    differing_clusters,
    equal_clusters,
    hostile_clusters,
)
from tests.report.sample_extremes import HOSTILE

MODELS = {"differs": differing_clusters, "equal": equal_clusters, "hostile": lambda: hostile_clusters(HOSTILE)}


@cache
def page(name: str) -> Element:
    return PageReader(render_comparison(MODELS[name]())).root


def part(name: str, anchor: str) -> Element:
    return next(one for one in page(name).everything() if one.attrs.get("id") == anchor)


@pytest.mark.parametrize("name", MODELS)
def test_the_page_is_balanced_accessible_and_closed(name: str) -> None:
    root = page(name)
    for landmark in ("header", "nav", "main", "footer", "h1"):
        assert len(root.all(landmark)) == 1, landmark
    levels = [int(one.tag[1]) for one in root.everything() if re.fullmatch("h[1-6]", one.tag)]
    assert all(below <= above + 1 for above, below in pairwise(levels))
    for table in root.all("table"):
        assert table.children[0].tag == "caption"
        assert all(one.attrs.get("scope") in ("col", "row") for one in table.all("th"))
    ids = [one.attrs["id"] for one in root.everything() if one.attrs.get("id")]
    assert len(ids) == len(set(ids))
    links = {str(one.attrs["href"]) for one in root.all("a")}
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)
    assert all(link.startswith(("#", "https://github.com/apache/")) for link in links)
    (policy,) = [one.attrs["content"] for one in root.all("meta") if one.attrs.get("http-equiv")]
    assert str(policy).startswith("default-src 'none'")


def test_the_verdict_comes_first_and_both_sides_are_named() -> None:
    assert page("differs").all("main")[0].children[0].attrs["id"] == "verdict"
    assert page("differs").all("h1")[0].full_text() == "The two sides do not hold the same messages."
    assert (
        "2,000 messages in A, 1,998 messages in B. 1 difference is not certain"
        in part("differs", "verdict").full_text()
    )
    (sides,) = [one for one in page("differs").all("table") if "sides" in str(one.attrs["class"])]
    rows = [[cell.full_text() for cell in row.children] for row in sides.all("tbody")[0].all("tr")]
    assert rows == [
        ["A", "eu", "/audits/eu", "s3://offload-eu", "2,000"], ["B", "us", "/audits/us", "s3://offload-us", "1,998"],
    ]  # fmt: skip


def test_each_difference_stands_with_its_places_on_both_sides() -> None:
    (table,) = [one for one in page("differs").all("table") if "differences" in str(one.attrs["class"])]
    rows = [[cell.full_text() for cell in row.children] for row in table.all("tbody")[0].all("tr")]
    assert [row[1] for row in rows] == [" in Bmissing"] * 3 + [" in Bstored too often", " A and Bother content"]
    assert [row[2:4] for row in rows] == [
        ["10:0", "not there"], ["10:1", "not there"], ["10:2", "not there"], ["10:0", "104:6"], ["10:1", "104:7"],
    ]  # fmt: skip
    assert rows[3][4] == "likelyno checksum"
    assert ", from us" in rows[4][0]


def test_topics_that_differ_come_first_with_both_names() -> None:
    (table,) = [one for one in page("differs").all("table") if "topics" in str(one.attrs["class"])]
    names = [row.children[0].full_text() for row in table.all("tbody")[0].all("tr")]
    assert names == [f"{ORDERS}in B {ORDERS}-b", SAME]
    assert "differs: 3 missing in B, 1 with other content, 1 too many in B" in table.full_text()
    assert [one.full_text() for one in part("differs", "topics").all("h3")] == [ORDERS]


def test_what_to_do_is_ready_to_copy() -> None:
    commands = [one.full_text() for one in part("differs", "next").all("pre")]
    assert commands == [
        "pulsar-backlog export /audits/eu",
        "pulsar-backlog repair missing /audits/compared --side b",
        'pulsar-backlog sql /audits/compared "SELECT * FROM differences"',
    ]
    assert part("equal", "next").all("pre") == []
    assert "Nothing. Compare again" in part("equal", "next").full_text()


def test_failing_over_is_told_in_messages() -> None:
    lines = part("differs", "subscriptions").all("tbody")[0].all("tr")
    rows = [[cell.full_text() for cell in row.children] for row in lines]
    skipped = "62 acknowledged there, 4 not stored there"
    assert rows[0][:5] == [f"billing, replicated{ORDERS}", "B", "7", "32 entries", skipped]
    assert rows[1][2:5] == ["unknown", "unknown", "unknown"]
    assert not any(one.attrs.get("id") == "subscriptions" for one in page("equal").everything())


def test_findings_carry_their_meaning_and_remedy() -> None:
    text = part("differs", "findings").full_text()
    kind = CATALOGUE["D01"]
    for words in (kind.meaning, kind.cause, kind.remedy, "a 10:1", f"WHERE topic = '{ORDERS}'"):
        assert words in text, words


def test_hostile_text_is_shown_and_does_nothing() -> None:
    raw = render_comparison(hostile_clusters(HOSTILE))
    raw.encode()
    assert {c for c in raw if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\n"} == set()
    assert len(raw) < 400_000
    text = page("hostile").full_text()
    for shown in ("<script>alert(1)</script>", r"\x1b[2J", r"\u202egnp.exe\u202c", "{{ 7*7 }}"):
        assert shown in text
    assert len(page("hostile").all("script")) == 1
    assert "evil.example" not in "".join(str(one.attrs) for one in page("hostile").everything())


def test_many_topics_are_bounded_and_counted() -> None:
    topics = [compared_topic(f"persistent://t/n/{at:05}", "differs", missing_a=1) for at in range(2_500)]
    text = PageReader(render_comparison(comparison(topics, "differs"))).root.full_text()
    assert "2,500 topics, those that differ first; 2,000 listed" in text
    assert f"And {2_500 - MAX_TOPICS_IN_FULL:,} more topics that differ" in text
    assert "Plan to publish in A" in text


def numbers(text: str) -> dict[tuple[str, ...], float]:
    return {
        (one.name, *(value for name, value in sorted(one.labels.items()) if name != "cluster")): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }


def test_numbers_for_prometheus() -> None:
    model = differing_clusters()
    found = numbers(comparison_exposition("eu", 5_000, 1, model.topics, model.subscriptions))
    of = "pulsar_backlog_"
    assert found[f"{of}comparison_timestamp_seconds",] == 5
    assert found[f"{of}comparison_exit_code",] == 1
    assert {key[1]: value for key, value in found.items() if key[0] == f"{of}compared_topics"} == {
        "equal": 1, "differs": 1, "explained": 0, "cannot_tell": 0,
    }  # fmt: skip
    assert found[f"{of}differences", "missing", "b", ORDERS] == 3
    assert found[f"{of}differences", "missing", "a", ORDERS] == 0
    assert found[f"{of}unsure_differences", ORDERS] == 1
    assert found[f"{of}compared_messages", "b", ORDERS] == 998
    assert found[f"{of}failover_skipped_messages", "b", "billing", ORDERS] == 6
    assert found[f"{of}failover_again_messages", "b", "billing", ORDERS] == 3
    assert not any("audit" in key for key in found)  # what is not known is no zero


def test_numbers_of_many_topics_are_summed() -> None:
    topics = [compared_topic(f"t{at}", "differs", missing_b=at) for at in range(BOUND + 5)]
    subscriptions = [compared_subscription("t", f"s{at}", "a") for at in range(BOUND + 5)]
    found = numbers(comparison_exposition("eu", 0, 1, topics, subscriptions))
    assert found["pulsar_backlog_differences", "missing", "b", OTHERS] == sum(range(5))
    assert found["pulsar_backlog_failover_skipped_messages", "a", OTHERS, OTHERS] == 5 * 6
    assert len([key for key in found if key[0] == "pulsar_backlog_unsure_differences"]) == BOUND + 1
