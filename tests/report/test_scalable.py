"""Scalable topics in the report: the drawing of a layout, the verdict, their sections, and their pages."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache

from pulsar_backlog.report.layouts import HEIGHT, Block, layout_drawing, numbers
from pulsar_backlog.report.model import ReportModel
from pulsar_backlog.report.pages import pages
from pulsar_backlog.report.scalable import Scalable, scalable_grade, scalable_line
from tests.report.page_reader import Element, PageReader, front
from tests.report.sample_extremes import HOSTILE, hostile
from tests.report.sample_models import lab
from tests.report.sample_parts import section
from tests.report.sample_scalable import (
    CLICKS,
    GUESSED,
    LEGACY,
    clicks_segments,
    migrated_segments,
    scalable_sample,
    segment,
    topic,
)


@cache
def sections() -> dict[str, Element]:
    root = PageReader(front(lab())).root
    (scalable,) = [one for one in root.all("section") if one.attrs.get("id") == "scalable"]
    return {one.all("h3")[0].full_text(): one for one in scalable.all("article")}


def places(blocks: tuple[Block, ...]) -> dict[int, tuple[float, float, float, float]]:
    return {one.segment_id: (one.x, one.y, one.width, one.height) for one in blocks}


def test_a_segment_stands_where_its_time_and_key_hashes_are() -> None:
    drawing = layout_drawing(clicks_segments())
    assert drawing is not None
    quarter = HEIGHT / 4
    assert drawing.columns == 4
    assert places(drawing.blocks) == {
        0: (0, 0, 25, 2 * quarter),
        1: (0, 2 * quarter, 50, 2 * quarter),  # lives through the first split
        2: (25, 0, 75, quarter),
        3: (25, quarter, 25, quarter),
        4: (50, quarter, 25, 3 * quarter),  # merged of 3 and 1
        5: (75, quarter, 25, HEIGHT * 0x6000 / 0x10000),
        6: (75, HEIGHT * 0xA000 / 0x10000, 25, HEIGHT * 0x6000 / 0x10000),
    }
    assert [(one.segment_id, one.fill) for one in drawing.blocks if not one.is_stored] == [(5, "active"), (6, "active")]


def test_at_each_time_the_segments_of_a_whole_layout_tile_the_drawing() -> None:
    drawing = layout_drawing(clicks_segments())
    assert drawing is not None
    for column in range(drawing.columns):
        x = (column + 0.5) * 100 / drawing.columns
        there = sorted((one.y, one.height) for one in drawing.blocks if one.x <= x < one.x + one.width)
        end = 0.0
        for y, height in there:
            assert abs(y - end) < 0.02
            end = y + height
        assert abs(end - HEIGHT) < 0.02


def test_what_was_migrated_stands_before_all_changes_and_shares_the_height() -> None:
    drawing = layout_drawing(migrated_segments())
    assert drawing is not None
    half = HEIGHT / 2
    assert places(drawing.blocks) == {0: (0, 0, 50, half), 1: (0, half, 50, half), 2: (50, 0, 50, HEIGHT)}
    assert [one.fill for one in drawing.blocks] == ["legacy", "legacy", "active"]
    assert [tick.x for tick in drawing.ticks] == [50]  # nobody knows when the old topics began


def test_without_a_layout_columns_are_generations() -> None:
    names = next(one for one in scalable_sample().topics if one.topic == GUESSED).listed
    drawing = layout_drawing(names)
    assert drawing is not None
    assert drawing.is_guessed
    assert places(drawing.blocks) == {0: (0, 0, 50, 180), 1: (50, 0, 50, 90), 2: (50, 90, 50, 90)}
    assert drawing.ticks == ()
    assert layout_drawing([segment(0, 0, 9, created_epoch=None, parents=None)]) is None
    assert layout_drawing([]) is None


def test_epochs_that_contradict_each_other_are_drawn_all_the_same() -> None:
    drawing = layout_drawing(
        [segment(0, 0, 9, created_epoch=5, sealed_epoch=2), segment(1, 0, 9, created_epoch=1 << 62)]
    )
    assert drawing is not None
    assert all(0 <= one.x < one.x + one.width <= 100.01 for one in drawing.blocks)


def test_the_verdict_is_the_worst_of_the_topic_and_its_segments() -> None:
    whole = topic(CLICKS, clicks_segments(), [], not_whole=0, stalls=0)
    assert (scalable_grade(whole), scalable_line(whole)) == ("clean", "7 segments (3 active, 4 sealed)")
    assert scalable_grade(replace(whole, warnings=1)) == "odd"
    assert scalable_grade(replace(whole, warnings=1, incomplete=True)) == "incomplete"
    assert scalable_grade(replace(whole, errors=1, incomplete=True)) == "broken"
    assert scalable_grade(replace(whole, ledgers=0)) == "nothing"
    assert scalable_line(replace(whole, active=0, sealed=0, not_whole=2, stalls=1, warnings=3, incomplete=True)) == (
        "7 segments, 2 of 4 chunked messages not whole, 1 stalled chunk set, 3 warnings, not everything was read"
    )


def test_a_section_says_segments_subscriptions_and_faults_in_words() -> None:
    article = sections()[CLICKS]
    tables = {str(one.attrs["class"]).split()[1]: one for one in article.all("table")}
    rows = [[cell.full_text() for cell in row.children] for row in tables["segments"].all("tbody")[0].all("tr")]
    assert len(rows) == 7
    assert rows[4][1:5] == ["sealed: nothing is added any more", "16,384 to 65,535", "3, 1", "5, 6"]
    assert rows[5][6:] == ["not in the source", "1"]
    cursors = [[cell.full_text() for cell in row.children] for row in tables["cursors"].all("tbody")[0].all("tr")]
    assert cursors[0][1:] == [
        "5 of 7", "12 entries, 40 messages, 2.0 KiBand 3 entries that are not in the source",
        "2 segments: 30 entries, 11.5 KiB", "1",
    ]  # fmt: skip
    assert "of queue consumers" in cursors[0][0]
    assert "of stream or checkpoint consumers" in cursors[1][0]
    assert cursors[1][2] == "unknown"  # a sum of which one part is not known
    assert cursors[1][3] == "none"
    text = article.full_text()
    for words in (
        "segment 3 is called active, but it is terminated",
        "no active segment has key hashes 0 to 16383",
        "A queue consumer that connects begins at the latest message",
        'sql demo-out "SELECT * FROM segments"',
    ):
        assert words in text
    assert "guessed from the names" not in text
    assert "guessed from the names" in sections()[GUESSED].full_text()
    assert "likely" in sections()[GUESSED].full_text()
    assert "0, migrated" in sections()[LEGACY].full_text()
    assert "begins at the latest" not in sections()[LEGACY].full_text()


def test_a_segment_leads_to_its_own_section_and_back_from_findings() -> None:
    name = clicks_segments()[0].segment
    model = replace(lab(), topics=(*lab().topics, section(name, 22, 15, 1000)))
    root = PageReader(front(model)).root
    (link,) = [one for one in root.all("a") if one.full_text() == name and one.attrs["href"].startswith("#topic-")
               and "segments" in str(_around(root, one, "table").attrs["class"])]  # fmt: skip
    target = next(one for one in root.everything() if one.attrs.get("id") == str(link.attrs["href"])[1:])
    assert target.all("h3")[0].full_text() == name


def _around(root: Element, inner: Element, tag: str) -> Element:
    return next(one for one in root.all(tag) if any(each is inner for each in one.everything()))


def test_the_search_knows_scalable_topics() -> None:
    text = front(lab())
    data = json.loads(text.partition('id="search-data">')[2].partition("</script>")[0])
    found = {row[0]: row for row in data["topics"]}
    assert found[CLICKS][5:] == [0, 2, "scalable"]
    assert data["all"][0] == lab().counts.topics + 3
    assert next(row for row in found.values() if row[0].startswith("persistent"))[7] == "topic"


def test_no_scalable_topic_no_section() -> None:
    text = front(replace(lab(), scalable=Scalable()))
    assert 'id="scalable"' not in text
    assert "scalable_topics" not in text


def many(topics: int) -> ReportModel:
    segments = tuple(
        segment(at, 0, 0xFFFF >> (at % 16), created_epoch=at, sealed_epoch=at + 1 if at < 100 else None)
        for at in range(120)
    )
    names = [f"topic://tenant/namespace/{at:03}" for at in range(topics)]
    return replace(lab(), scalable=Scalable(topics * 7, tuple(topic(name, segments, []) for name in names)))


def test_many_have_pages_of_their_own_and_all_are_reached() -> None:
    files = dict(pages(many(100)))
    assert max(len(text.encode()) for text in files.values()) < 2_000_000
    assert list(files)[-1] == "report.html"
    others = [name for name in files if name.startswith("report/scalable-")]
    assert others
    assert [name for name in files if name.startswith("report/") and name not in others] == []
    linked = set(re.findall(r'<a href="(report/scalable-\d+\.html)">', files["report.html"]))
    assert linked == set(others)
    titles = [
        name for text in files.values() for name in re.findall(r'<h3 id="scalable-\d+-h">([^<]*(?:<bdi>)?[^<]*)', text)
    ]
    assert len(set(titles)) == 100
    assert "of which the worst 100 have a section" in files["report.html"]
    assert "700 scalable topics" in files["report.html"]
    data = json.loads(files["report.html"].partition('id="search-data">')[2].partition("</script>")[0])
    for row in data["topics"]:
        if row[7] == "scalable":
            page = f"report/scalable-{row[5]}.html" if row[5] else "report.html"
            assert f'<article id="scalable-{row[6]}"' in files[page]
    PageReader(files[others[0]])


def test_what_is_not_listed_is_counted() -> None:
    one = replace(topic(CLICKS, clicks_segments(), []), segments=900, subscription_total=70)
    model = replace(
        lab(), scalable=Scalable(1, (replace(one, subscriptions=scalable_sample().topics[1].subscriptions),))
    )
    text = PageReader(front(model)).root.full_text()
    assert "900 segments, parents before children; the newest 7 are listed" in text
    assert "70 subscriptions, cursors of all segments added up; 2 are listed" in text


def test_hostile_names_do_nothing() -> None:
    text = front(hostile())
    shown = PageReader(text).root
    (scalable,) = [one for one in shown.all("section") if one.attrs.get("id") == "scalable"]
    assert len(scalable.all("article")) == len(HOSTILE)
    assert "<script>alert(1)</script>" in scalable.full_text()
    assert scalable.all("script") == scalable.all("img") == []


def test_segments_in_words() -> None:
    assert [numbers(None), numbers(()), numbers((3, 1))] == ["unknown", "none", "3, 1"]
    assert numbers(tuple(range(14))).endswith("10, 11 and 2 more")
