"""Data Docs: complete, without network, and safe with hostile names."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from healthy_audit import frame

from pulsar_backlog.quality.check import check
from pulsar_backlog.quality.rules import Rule
from pulsar_backlog.quality.summaries import COLUMNS

HOSTILE = "persistent://t/n/<script>alert(1)</script><img src=x onerror=alert(2)>&lt;b&gt;\"' $x {{7*7}} ü✓"


class _Page(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def site(rules: list[Rule], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out") / "new" / "data_docs"
    summaries = {name: frame(name, {"subject": HOSTILE, "topic": HOSTILE}) for name in COLUMNS}
    summaries["topic_summary"]["index_backwards"] = 1
    rows = {row["rule"]: row for row in check(rules, summaries, folder)}
    assert rows["topic_index_rises"]["examples"] == [HOSTILE]
    return folder


def _pages(site: Path) -> dict[Path, _Page]:
    return {path: _Page(path.read_text("utf-8")) for path in site.rglob("*.html")}


def test_nothing_is_loaded_or_run(site: Path) -> None:
    pages = _pages(site)
    assert len(pages) == 1 + 2 * len(COLUMNS)
    for path, page in pages.items():
        assert {tag for tag, _ in page.tags}.isdisjoint({"script", "img", "link", "iframe", "object"})
        assert not [name for _, attrs in page.tags for name in attrs if name in ("onerror", "onload")]
        assert not re.search(r"url\(|@import", path.read_text("utf-8"))
        policies = [a["content"] for t, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
        assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_pages_of_results_name_the_table_that_they_are_about(site: Path) -> None:
    named = {
        path.relative_to(site).parts[1]: page.text for path, page in _pages(site).items() if "validations" in path.parts
    }
    assert set(named) == set(COLUMNS)
    for summary, text in named.items():
        assert f"Data asset: {summary}" in text
        assert "Data asset: None" not in text


def test_pages_have_landmarks_and_headings(site: Path) -> None:
    for path, page in _pages(site).items():
        assert [a.get("lang") for tag, a in page.tags if tag == "html"] == ["en"]
        mains = [tag for tag, attrs in page.tags if tag == "main" or attrs.get("role") == "main"]
        assert len(mains) == 1, path
        navs = [attrs.get("aria-label") for tag, attrs in page.tags if tag == "nav"]
        assert navs or path.parent == site
        assert None not in navs
        assert len(navs) == len(set(navs))
        levels = [int(a.get("aria-level") or t[1]) for t, a in page.tags if re.fullmatch("h[1-6]", t)]
        assert levels[0] == 1, path
        raw = path.read_text("utf-8")
        for tag in ("nav", "div", "main"):
            assert len(re.findall(f"<{tag}[ >]", raw)) == raw.count(f"</{tag}>"), (path, tag)


def test_hostile_names_are_shown_as_they_are(site: Path) -> None:
    [page] = [page for path, page in _pages(site).items() if "validations/topic_summary" in str(path)]
    assert HOSTILE in page.text


def test_links_within_the_site_lead_somewhere(site: Path) -> None:
    for path, page in _pages(site).items():
        links = [attrs.get("href") or "" for tag, attrs in page.tags if tag == "a"]
        inside = [link for link in links if not link.startswith(("#", "https://"))]
        assert all((path.parent / link).is_file() for link in inside)
    index = _Page((site / "index.html").read_text("utf-8"))
    assert sum(tag == "a" for tag, _ in index.tags) == len(COLUMNS)


def test_sentences_and_failures_are_there(site: Path, rules: list[Rule]) -> None:
    text = "".join(page.text for page in _pages(site).values())
    assert [rule.id for rule in rules if rule.sentence not in text] == []
    rows = (site / "index.html").read_text("utf-8").split("<tbody>")[1]
    assert re.findall(r'<tr class="(\w+)">', rows) == ["passed", "failed", "passed"]


def test_a_second_check_replaces_the_site(rules: list[Rule], tmp_path: Path) -> None:
    folder = tmp_path / "data_docs"
    folder.mkdir()
    (folder / "old.html").write_text("old")
    check(rules, {name: frame(name) for name in COLUMNS}, folder)
    assert not (folder / "old.html").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["data_docs"]


def test_a_missing_summary_or_column_is_said(rules: list[Rule], tmp_path: Path) -> None:
    summaries = {name: frame(name) for name in COLUMNS}
    with pytest.raises(ValueError, match="audit_summary lacks topics"):
        check(rules, {**summaries, "audit_summary": summaries["audit_summary"].drop(columns="topics")}, tmp_path)
    with pytest.raises(ValueError, match="no audit_summary"):
        check(rules, {k: v for k, v in summaries.items() if k != "audit_summary"}, tmp_path)
