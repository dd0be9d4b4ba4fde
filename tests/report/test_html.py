"""The page: valid, self-contained, accessible, bounded, the same every time, and deaf to what topics shout."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import os
import re
import subprocess
import sys
import unicodedata
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from pulsar_backlog.findings import CATALOGUE
from pulsar_backlog.report.model import FindingTotal
from pulsar_backlog.report.words import FLAGS, LIES, STATES
from tests.report.page_reader import Element, PageReader, front
from tests.report.sample_extremes import hostile, huge
from tests.report.sample_models import clean, empty, lab
from tests.report.sample_parts import finding

MODELS = {"lab": lab, "clean": clean, "empty": empty, "large": lambda: huge(60, 4), "hostile": hostile}
TEMPLATES = Path(__file__).parents[2] / "lib/pulsar_backlog/report/templates"
CSS = TEMPLATES / "report.css"
IN_FOLDER = r"report/(part|topics|subscriptions|findings)-\d+\.html(#topic-\d+)?"


@cache
def page(name: str) -> str:
    return front(MODELS[name]())


@cache
def tree(name: str) -> Element:
    return PageReader(page(name)).root


every_model = pytest.mark.parametrize("name", MODELS)


@every_model
def test_document_is_balanced_and_has_its_landmarks(name: str) -> None:
    reader = PageReader(page(name))
    assert reader.declarations == ["doctype html"]
    assert reader.comments == []
    html = reader.root.all("html")[0]
    assert html.attrs["lang"] == "en"
    assert len(reader.root.all("head")[0].all("title")) == 1
    for landmark in ("header", "main", "footer"):
        assert len(reader.root.all(landmark)) == 1, landmark
    names = [nav.attrs["aria-label"] for nav in reader.root.all("nav")]
    assert names[0] == "Contents"
    assert len(names) == len(set(names))
    viewport = [m for m in reader.root.all("meta") if m.attrs.get("name") == "viewport"]
    assert viewport[0].attrs["content"] == "width=device-width, initial-scale=1"


@every_model
def test_nothing_is_fetched_and_only_our_script_runs(name: str) -> None:
    data, script = tree(name).all("script")
    assert script.text == (TEMPLATES / "report.js").read_text()
    assert script.attrs == {}
    assert data.attrs == {"type": "application/json", "id": "search-data"}
    assert set(json.loads(data.text)) == {"topics", "subscriptions", "findings", "all"}
    allowed = {"data_docs/index.html", "repairs.html", "data:,"} | {kind.upstream for kind in CATALOGUE.values()}
    for element in tree(name).everything():
        assert element.tag not in ("iframe", "object", "embed", "img", "form", "base")
        assert not {"src", "srcset", "style", "action", "background"} & set(element.attrs)
        assert not [a for a in element.attrs if a.startswith("on")]
        href = element.attrs.get("href")
        assert href is None or href.startswith("#") or href in allowed or re.fullmatch(IN_FOLDER, href)
    assert "url(" not in re.sub(r"url\(#[a-z_-]+\)", "", page(name))
    assert "@import" not in page(name)


@every_model
def test_content_policy_allows_our_style_and_script_and_nothing_else(name: str) -> None:
    policy = next(m for m in tree(name).all("meta") if m.attrs.get("http-equiv") == "Content-Security-Policy")
    style = tree(name).all("style")[0].text
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    script = base64.b64encode(hashlib.sha256(tree(name).all("script")[-1].text.encode()).digest()).decode()
    assert policy.attrs["content"] == (
        f"default-src 'none'; style-src 'sha256-{digest}'; script-src 'sha256-{script}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def test_our_script_makes_no_markup_of_text() -> None:
    script = (TEMPLATES / "report.js").read_text()
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval|Function|fetch|XMLHttp", script)


@every_model
def test_ids_are_unique_and_references_lead_somewhere(name: str) -> None:
    ids = [e.attrs["id"] for e in tree(name).everything() if "id" in e.attrs]
    assert len(ids) == len(set(ids))
    for element in tree(name).everything():
        href = element.attrs.get("href") or ""
        if href.startswith("#"):
            assert href[1:] in ids, href
        for target in (element.attrs.get("aria-labelledby") or "").split():
            assert target in ids, target


@every_model
def test_headings_descend_one_by_one_from_one_h1(name: str) -> None:
    levels = [int(e.tag[1]) for e in tree(name).everything() if re.fullmatch("h[1-6]", e.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    for above, below in itertools.pairwise(levels):
        assert below <= above + 1


@every_model
def test_tables_have_captions_and_scopes(name: str) -> None:
    for table in tree(name).all("table"):
        assert table.children[0].tag == "caption"
        assert all(th.attrs.get("scope") in ("col", "row") for th in table.all("th"))
        columns = len(table.all("thead")[0].all("th"))
        for row in table.all("tbody")[0].all("tr"):
            assert len(row.all("th")) == 1
            assert len(row.children) == columns


@every_model
def test_drawings_have_text_or_are_decoration(name: str) -> None:
    inner = {id(n) for svg in tree(name).all("svg") for child in svg.children for n in child.all("svg")}
    for svg in tree(name).all("svg"):
        if svg.attrs.get("aria-hidden") == "true" or id(svg) in inner:
            continue
        assert svg.attrs["role"] == "img"
        assert [child.tag for child in svg.children[:2]] == ["title", "desc"]
        assert all(child.text.strip() for child in svg.children[:2])


@every_model
def test_same_model_same_bytes_whatever_the_order_of_rows(name: str) -> None:
    model = MODELS[name]()
    shuffled = replace(
        model,
        topics=tuple(
            replace(t, findings=t.findings[::-1], broken=t.broken[::-1], finding_totals=t.finding_totals[::-1])
            for t in model.topics[::-1]
        ),
        findings=model.findings[::-1],
        finding_totals=model.finding_totals[::-1],
        groups=model.groups[::-1],
    )
    assert front(shuffled) == page(name)


def test_same_bytes_under_another_hash_seed() -> None:
    code = "import hashlib, sample_models as m; from pulsar_backlog.report.pages import pages\n"
    code += "print(hashlib.sha256(dict(pages(m.lab()))['report.html'].encode()).hexdigest())"
    folders = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "lib")]
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(folders)}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert run.stdout.strip() == hashlib.sha256(page("lab").encode()).hexdigest()


def test_what_a_section_leaves_out_is_counted() -> None:
    text = tree("large").full_text()
    assert "20 messages listed of 73" in text
    assert "400 ledger copies, 20 listed" in text
    assert re.search(r"And [\d,]+ more:", text)
    sections = [a for a in tree("large").all("article") if (a.attrs.get("id") or "").startswith("topic-")]
    opened = sum("open" in d.attrs for a in sections for d in a.children)
    assert opened == min(len(sections), 5) > 0


def test_hostile_text_is_shown_and_does_nothing() -> None:
    raw = page("hostile")
    raw.encode("utf-8")
    assert len(raw) < 400_000
    bad = {c for c in raw if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\n"}
    assert bad == set()
    text = tree("hostile").full_text()
    for shown in ("<script>alert(1)</script>", r"\x1b[2J", r"\u202egnp.exe\u202c", r"line\x0abreak", r"\ud800lone"):
        assert shown in text
    assert "{{ 7*7 }}" in text
    assert "evil.example" not in "".join(str(e.attrs) for e in tree("hostile").everything())


def test_a_page_of_the_documentation_that_findings_name_is_carried_in_the_report() -> None:
    lies = finding("C13", "u", "The sizes of a message contradict its bytes.")
    shown = front(replace(lab(), findings=(lies,), finding_totals=(FindingTotal("C13", "error", False, 1, 1),)))
    root = PageReader(shown).root
    link = next(a for a in root.all("a") if a.full_text() == "What the words mean")
    assert link.attrs["href"] == "#words"
    (words,) = [one for one in root.all("section") if one.attrs.get("id") == "words"]
    text = " ".join(words.full_text().split())
    assert all(name.replace("_", " ") in text for name in (*STATES, *FLAGS))
    assert "docs/verdicts.md" not in shown


def test_what_wrong_sizes_do_to_clients_is_told_as_in_the_documentation() -> None:
    told = (TEMPLATES.parents[3] / "docs/verdicts.md").read_text().partition("What wrong sizes did to real clients")[2]
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in told.splitlines()[4:]]
    assert rows[: len(LIES)] == list(LIES)
    assert rows[len(LIES)] == ("",)


def test_every_step_says_what_it_is_for() -> None:
    steps = tree("lab").all("ol")[0].all("li")
    commands = [one for one in steps if one.all("pre")]
    assert len(commands) > 3
    leads = [[p.full_text() for p in one.all("p") if p.attrs.get("class") == "lead"] for one in commands]
    assert all(len(lead) == 1 and lead[0].endswith(":") for lead in leads), leads


def test_first_words_are_the_verdict() -> None:
    assert tree("lab").all("main")[0].children[0].attrs["id"] == "verdict"
    assert tree("lab").all("h1")[0].full_text() == (
        "2 subscriptions are stalled. Worst: persistent://lab/s3/brk2-bad-zstd, billing, at 13:3. "
        "1 object could not be read in full."
    )


def test_topic_section_says_everything_about_its_messages() -> None:
    article = next(a for a in tree("lab").all("article") if "brk-missing" in a.all("h3")[0].full_text())
    row = next(tr for tr in article.all("tr") if "raw5-1" in tr.full_text())
    text = " ".join(cell.full_text() for cell in row.children)
    expected = ["headless", "its first chunk is not stored", "5:3 to 5:5", "3 of 4 chunks", "chunk 0 of 4"]
    expected += ["bytes 0-2,000 of 8,000", "no", "likely", "no earlier ledger of this topic is in the source"]
    for words in expected:
        assert words in text, words
    finding = next(d for d in article.all("details") if "C08" in d.all("summary")[0].full_text())
    kind = CATALOGUE["C08"]
    for words in (kind.meaning, kind.cause, kind.remedy, kind.upstream, "5:4", 'pulsar-backlog sql demo-out "SELECT'):
        assert words in finding.full_text(), words


def test_healthy_topic_shows_time_and_ledgers_in_numbers_too() -> None:
    article = next(a for a in tree("clean").all("article") if "multi-chunk" in a.all("h3")[0].full_text())
    figure = article.all("figure")[0]
    drawn = figure.all("svg")[0].full_text()
    assert "257" in drawn
    assert "258" in drawn
    numbers = [int(tr.children[1].text) for tr in figure.all("tbody")[0].all("tr")]
    assert sum(numbers) == clean().topics[0].entries


def test_settings_stand_with_their_reason_where_there_are_chunks() -> None:
    article = next(a for a in tree("clean").all("article") if "multi-chunk" in a.all("h3")[0].full_text())
    (settings,) = [d for d in article.all("details") if "Settings that suit" in d.all("summary")[0].full_text()]
    cells = [[cell.full_text().strip() for cell in tr.children] for tr in settings.all("tbody")[0].all("tr")]
    assert cells[0] == ["maxPendingChunkedMessage", "15", "up to 12 unfinished at once (4,800,000 bytes)"]
    others = [a for a in tree("lab").all("article") if "multi-chunk" not in a.all("h3")[0].full_text()]
    assert others
    assert not any("Settings that suit" in a.full_text() for a in others)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_contrast_is_at_least_4_5(theme: int) -> None:
    blocks = re.findall(r":root \{(.*?)\}", CSS.read_text(), re.S)
    colours = dict(re.findall(r"--([a-z_-]+): (#[0-9a-f]{6});", blocks[theme]))
    for text in ("fg", "soft", "link"):
        for ground in ("bg", "panel", "bad-bg", "warn-bg", "good-bg", "note-bg"):
            assert _contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for text in ("bad", "warn", "good", "note"):
        for ground in ("bg", f"{text}-bg"):
            assert _contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    states = ("whole", "out_of_order", "orphan_prefix", "headless", "gap", "in_flight", "malformed", "bytes", "chunks")
    for shape in states:
        assert _contrast(colours[shape], colours["bg"]) >= 3, shape


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
