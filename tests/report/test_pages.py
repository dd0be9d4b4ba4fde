"""The report of a whole cluster: no page too large, everything reachable from the front page, one batch at a time."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from functools import cache
from posixpath import dirname, join, normpath

import pytest

from pulsar_backlog.report.model import ListedTopic, TopicSection
from pulsar_backlog.report.pages import ALL_IN_ONE_BYTES, PACK_BYTES, pages
from pulsar_backlog.report.words import natural
from tests.report.page_reader import Element, PageReader
from tests.report.sample_extremes import HOSTILE, at_size, hostile, huge
from tests.report.sample_models import lab

TOPICS, SUBSCRIPTIONS = 2_000, 10_000
MAX_BYTES = 2_000_000


@cache
def written() -> dict[str, str]:
    model, further = at_size(TOPICS, SUBSCRIPTIONS // TOPICS)
    return dict(pages(model, further))


@cache
def tree(name: str) -> Element:
    return PageReader(written()[name]).root


def links(name: str) -> Iterator[tuple[str, str]]:
    """Page and anchor that a page's links lead to."""
    for href in re.findall(r'<a (?:class="skip" |rel="(?:prev|next)" )?href="([^"]+)"', written()[name]):
        page, _, anchor = href.partition("#")
        yield normpath(join(dirname(name), page)) if page else name, anchor


def test_no_page_is_large() -> None:
    sizes = {name: len(text.encode()) for name, text in written().items()}
    assert len(sizes) > 10
    assert max(sizes.values()) < MAX_BYTES, sizes
    assert list(sizes)[-1] == "report.html"


def test_every_topic_is_reached_without_a_script() -> None:
    known = {name: set(re.findall(r'\bid="([^"]+)"', text)) for name, text in written().items()}
    reached, waiting, sections = set(), ["report.html"], set()
    while waiting:
        name = waiting.pop()
        reached.add(name)
        for page, anchor in links(name):
            assert page in written() or page in ("data_docs/index.html", "repairs.html"), page
            assert not anchor or anchor in known[page], (name, page, anchor)
            sections |= {anchor} if anchor.startswith("topic-") else set()
            waiting += [page] if page in written() and page not in reached else []
    assert reached == set(written())
    assert sections == {f"topic-{n + 1}" for n in range(TOPICS)}
    headings = [name for text in written().values() for name in re.findall(r"<h3 id=\"topic-\d+-h\">(.*)</h3>", text)]
    assert len(headings) == len(set(headings)) == TOPICS


def test_every_subscription_stands_in_a_list() -> None:
    text = "".join(text for name, text in written().items() if name.startswith("report/subscriptions-"))
    listed = re.findall(r'<th scope="row">(reader-\d+-\d+)<small>', text)
    assert len(listed) == len(set(listed)) == SUBSCRIPTIONS


def test_the_search_knows_everything_and_where_it_lies() -> None:
    (data,) = [e for e in tree("report.html").all("script") if e.attrs.get("id") == "search-data"]
    found = json.loads(data.text)
    assert (len(found["topics"]), len(found["subscriptions"])) == (TOPICS, SUBSCRIPTIONS)
    assert len(found["findings"]) == 667
    assert found["all"] == [TOPICS, SUBSCRIPTIONS, 667]
    places = {tuple(row[5:7]) for row in found["topics"]}
    assert {number for _, number in places} == set(range(1, TOPICS + 1))
    for page, number in places:
        name = f"report/part-{page}.html" if page else "report.html"
        assert f'<article id="topic-{number}"' in written()[name]
    for row in found["subscriptions"]:
        topic = found["topics"][row[5]][0]
        assert f"-{row[0].split('-')[1]}-partition" in topic
    grades = [row[1] for row in found["topics"]]
    assert grades == sorted(grades)


@pytest.mark.parametrize("kind", ["part", "topics", "subscriptions", "findings"])
def test_pages_of_the_folder_are_as_accessible_as_the_front_page(kind: str) -> None:
    page = tree(f"report/{kind}-1.html")
    for landmark in ("header", "nav", "main", "footer", "h1"):
        assert len(page.all(landmark)) == 1, landmark
    levels = [int(e.tag[1]) for e in page.everything() if re.fullmatch("h[1-6]", e.tag)]
    assert all(below <= above + 1 for above, below in itertools.pairwise(levels))
    for table in page.all("table"):
        assert table.children[0].tag == "caption"
        assert all(th.attrs.get("scope") in ("col", "row") for th in table.all("th"))
    policy = [m.attrs["content"] for m in page.all("meta") if m.attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policy == [
        m.attrs["content"]
        for m in tree("report.html").all("meta")
        if m.attrs.get("http-equiv") == "Content-Security-Policy"
    ]
    assert "default-src 'none'" in str(policy[0])


def test_one_batch_is_held_at_a_time() -> None:
    model, further = at_size(450, 2, batch_topics=150)
    given = []

    def one_by_one() -> Iterator[tuple[TopicSection, ...]]:
        for number, batch in enumerate(further):
            given.append(number)
            yield batch

    seen = {}
    for name, _ in pages(model, one_by_one()):
        seen.setdefault(len(given), []).append(name)
    assert seen[0][0] == "report/part-1.html"  # the first parts are out before the second batch is asked for
    assert seen[1]
    assert list(seen) == [0, 1, 2]


def test_a_report_that_fits_is_one_file() -> None:
    for model in (lab(), hostile()):
        assert list(dict(pages(model))) == ["report.html"]
    assert ALL_IN_ONE_BYTES + 400_000 < MAX_BYTES
    assert PACK_BYTES + 500_000 < MAX_BYTES


def test_as_large_as_the_bounds_allow_no_page_is_large() -> None:
    sizes = {name: len(text.encode()) for name, text in pages(huge(150))}
    assert max(sizes.values()) < MAX_BYTES, sizes


def test_topics_without_a_section_are_listed() -> None:
    rest = [ListedTopic("persistent://a/b/with-errors", 3, 10, 10), ListedTopic("persistent://a/b/without", 0, 10, 99)]
    text = dict(pages(lab(), (), rest))["report.html"]
    tree = PageReader(text).root
    rows = [
        row.full_text() for row in next(t for t in tree.all("table") if "topics" in str(t.attrs["class"])).all("tr")
    ]
    assert len(rows) == 1 + len(lab().topics) + 2
    assert any("with-errors" in row and "3 errors, see the table findings" in row for row in rows)
    assert rows[-1].startswith("persistent://a/b/without")
    assert "not drawn here" in rows[-1]


def test_hostile_text_ends_no_script_element() -> None:
    text = dict(pages(hostile()))["report.html"]
    data = text.partition('<script type="application/json" id="search-data">')[2].partition("</script>")[0]
    assert "<" not in data
    assert data.isascii()
    found = json.loads(data)
    assert len(found["subscriptions"]) == len(HOSTILE)
    assert HOSTILE[0] in [row[0] for row in found["subscriptions"]]


def test_each_page_leads_to_the_one_before_and_the_one_after() -> None:
    names = sorted((name for name in written() if name.startswith("report/part-")), key=natural)
    assert len(names) > 2
    for at, name in enumerate(names):
        links = {a.attrs["rel"]: a.attrs["href"] for a in tree(name).all("a") if a.attrs.get("rel") in ("prev", "next")}
        expected = {"prev": names[at - 1] if at else None, "next": names[at + 1] if at + 1 < len(names) else None}
        assert links == {rel: to.removeprefix("report/") for rel, to in expected.items() if to}
