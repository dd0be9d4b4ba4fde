"""The report in a real browser: no console message, no request but for itself, nothing to scroll sideways, prints.

Not collected with the tests, because it needs Chromium (`chromium`, `chromium-browser`, `google-chrome`, or the
path in CHROMIUM): run it by its name, `python -m pytest tests/browser/check_report.py`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))

from pulsar_backlog.report.comparison_page import ComparisonModel, render_comparison
from pulsar_backlog.report.model import ReportModel
from pulsar_backlog.report.pages import pages
from pulsar_backlog.report.repair_page import render_repairs
from tests.report.page_reader import front
from tests.report.sample_comparison import differing_clusters, hostile_clusters
from tests.report.sample_extremes import HOSTILE, at_size, hostile, huge
from tests.report.sample_models import clean, lab

MODELS: dict[str, Callable[[], ReportModel]] = {
    "lab": lab,
    "clean": clean,
    "large": lambda: huge(60, 4),
    "hostile": hostile,
}
PHONE, DESKTOP = 390, 1280
# A frame around the page measures it. Every <details> is opened first.
FRAME = """<!doctype html><link rel="icon" href="data:,"><body>
<iframe src="/report.html" style="border:0;width:%dpx;height:900px"></iframe>
<script>
document.querySelector("iframe").addEventListener("load", event => {
  const page = event.target.contentDocument, root = page.documentElement;
  page.querySelectorAll("details").forEach(d => { d.open = true; });
  const wide = [...page.querySelectorAll("body *")].filter(e =>
    !e.closest("svg, thead, .skip") && e.getBoundingClientRect().right > root.clientWidth + 1);
  const result = { client: root.clientWidth, scroll: root.scrollWidth,
    wide: wide.slice(0, 5).map(e => e.outerHTML.slice(0, 120)),
    bar: page.querySelector("svg.bar .seg") ? getComputedStyle(page.querySelector("svg.bar")).height : null,
    styled: getComputedStyle(page.querySelector(".verdict")).borderLeftStyle };
  document.body.textContent = "RESULT" + JSON.stringify(result) + "END";
});
</script>"""

# The same for the page's own script: what is typed, chosen and clicked, and what is then shown.
ASKED = """
const wait = ms => new Promise(done => setTimeout(done, ms));
const found = page =>
  [...page.querySelectorAll("table.found tbody tr")].map(r => r.cells[0].querySelector("bdi").textContent);
const type = async (page, text) => {
  const field = page.getElementById("search-field");
  field.value = text;
  field.dispatchEvent(new Event("input"));
  await wait(400);
};
const choose = (page, at, value) => {
  const select = page.querySelectorAll("#search select")[at];
  select.value = value;
  select.dispatchEvent(new Event("change"));
};
const say = result => { document.body.textContent = "RESULT" + JSON.stringify(result) + "END"; };
"""
SEARCHED = """<!doctype html><link rel="icon" href="data:,"><body>
<iframe src="/report.html" style="border:0;width:1280px;height:900px"></iframe>
<script>ASKED
document.querySelector("iframe").addEventListener("load", async event => {
  const page = event.target.contentDocument;
  const sizes = () => [...page.querySelectorAll("table.topics tbody tr")].map(r => Number(r.cells[3].dataset.sort));
  const by = page.querySelectorAll("table.topics thead button")[3];
  by.click();
  const up = sizes();
  by.click();
  const down = sizes();
  await type(page, "MULTI-chunk");
  choose(page, 0, "topic");
  const shown = found(page), link = page.querySelector("table.found a").getAttribute("href");
  await type(page, "topic://lab/s3/clicks");
  const scalable = page.querySelector("table.found a").getAttribute("href");
  const zooms = page.querySelector(scalable).querySelectorAll("figure.layout .zoom button");
  const layouts = [...zooms].map(button => button.textContent);
  await type(page, "");
  choose(page, 1, "0");
  page.querySelectorAll("table.found thead button")[0].click();
  const broken = found(page);
  choose(page, 1, "");
  choose(page, 0, "finding");
  choose(page, 2, "1");
  const likely = page.querySelectorAll("table.found tbody tr").length;
  const sure = [...page.querySelectorAll("table.found tbody tr")].map(r => r.cells[3].textContent);
  choose(page, 0, "");
  choose(page, 2, "");
  const none = page.querySelector("table.found").hidden;
  const figure = page.querySelector("figure.acks"), drawing = figure.querySelector("svg");
  figure.closest("article").querySelector("details").open = true;
  const narrow = drawing.getBoundingClientRect().width;
  figure.querySelectorAll(".zoom button")[0].click();
  figure.querySelectorAll(".zoom button")[0].click();
  const ticks = getComputedStyle(drawing.querySelector(".ticks")).display;
  const zoomed = drawing.getBoundingClientRect().width / narrow, scrolls = figure.querySelector(".pan").scrollLeft > 0;
  const wide = page.documentElement.scrollWidth > page.documentElement.clientWidth;
  say({ up, down, shown, link, scalable, layouts, broken, likely, sure, none, zoomed, scrolls, ticks, wide });
});
</script>""".replace("ASKED", ASKED)

# What a reader sees before he opens anything, and what a link to a part does.
FOLDED = """<!doctype html><link rel="icon" href="data:,"><body>
<iframe src="/report.html" style="border:0;width:%dpx;height:900px"></iframe>
<script>ASKED
document.querySelector("iframe").addEventListener("load", async event => {
  const page = event.target.contentDocument, root = page.documentElement, high = root.scrollHeight;
  const topic = page.querySelector("article.topic"), folded = page.querySelectorAll("details.fold:not([open])").length;
  event.target.contentWindow.location.hash = topic.id;
  await wait(300);
  const top = topic.getBoundingClientRect().top, open = topic.querySelector("details").open;
  page.querySelectorAll("details").forEach(d => { d.open = true; });
  const cells = [...page.querySelectorAll("td[data-label='How sure']")].map(c => c.getBoundingClientRect().width);
  const cut = [...page.querySelectorAll("td, th")].filter(c => c.scrollWidth > c.clientWidth + 1)
    .map(c => c.outerHTML.slice(0, 120));
  const rules = [...page.querySelectorAll("article")].map(a => {
    const before = a.previousElementSibling, last = before && before.querySelector("tbody tr:last-child > :last-child");
    return parseFloat(getComputedStyle(a).borderTopWidth) && before && (before.matches("summary, h2") ||
      (last && parseFloat(getComputedStyle(last).borderBottomWidth)));
  }).filter(Boolean).length;
  say({ high, full: root.scrollHeight, folded, top, open, narrow: Math.min(...cells), cut, rules });
}, { once: true });
</script>""".replace("ASKED", ASKED)

# A page of the folder asks the front page.
FROM_ELSEWHERE = """<!doctype html><link rel="icon" href="data:,"><body>
<iframe src="%s" style="border:0;width:1280px;height:900px"></iframe>
<script>ASKED
const frame = document.querySelector("iframe");
frame.addEventListener("load", () => {
  const page = frame.contentDocument;
  frame.addEventListener("load", async () => {
    await wait(400);
    const front = frame.contentDocument;
    say({ at: frame.contentWindow.location.pathname, field: front.getElementById("search-field").value,
      shown: found(front) });
  }, { once: true });
  page.getElementById("search-field").value = "multi-chunk";
  page.querySelector("#search button").click();
}, { once: true });
</script>""".replace("ASKED", ASKED)

# At size, from files: what is found lies where the link leads.
AT_SIZE = """<!doctype html><body>
<iframe style="border:0;width:1280px;height:900px"></iframe>
<script>ASKED
const frame = document.querySelector("iframe");
frame.addEventListener("load", async event => {
  const page = event.target.contentDocument;
  await type(page, "orders-of-a-shop-01999");
  const shown = found(page), link = page.querySelector("table.found a").getAttribute("href");
  choose(page, 0, "subscription");
  await type(page, "reader");
  const told = page.querySelector("#search [role=status]").textContent;
  const rows = found(page).length;
  frame.addEventListener("load", () => {
    const part = frame.contentDocument, target = part.getElementById(link.split("#")[1]);
    say({ shown, told, rows, link, heading: target.querySelector("h3").textContent,
      tables: part.querySelectorAll(".pan").length });
  }, { once: true });
  frame.src = link;
}, { once: true });
frame.src = "report.html";
</script>""".replace("ASKED", ASKED)


@dataclass
class Site:
    """A loopback server that keeps a list of what was asked of it."""

    port: int
    pages: dict[str, str]
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def site() -> Iterator[Site]:
    served = Site(0, {})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.append(self.path)
            body = served.pages.get(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write((body or "").encode())

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield served
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="session")
def chromium() -> str:
    names = [os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome"]
    found = next(filter(None, map(shutil.which, filter(None, names))), None)
    if found is None:
        pytest.fail("no Chromium found: install it, or set CHROMIUM to its path")
    return found


def browse(chromium: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [
        chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={folder / 'profile'}", f"--log-net-log={folder / 'net.json'}",
        "--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", *options,
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


def requested(folder: Path) -> set[str]:
    """What pages asked for; Chromium's own calls home have no origin, and the resolver rules end them."""
    events = [event.get("params", {}) for event in json.loads((folder / "net.json").read_text())["events"]]
    return {e["url"] for e in events if "url" in e and e.get("initiator", "not an origin") != "not an origin"}


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
@pytest.mark.parametrize("name", MODELS)
def test_page_fits_and_is_silent(name: str, width: int, site: Site, chromium: str, tmp_path: Path) -> None:
    site.pages = {"/frame.html": FRAME % width, "/report.html": front(MODELS[name]())}
    start = f"http://127.0.0.1:{site.port}/"
    run = browse(chromium, tmp_path, "--window-size=1400,1000", "--dump-dom", start + "frame.html")
    result = told(run)
    assert result["client"] == width - (15 if result["client"] < width else 0)  # a scroll bar may take its part
    assert result["scroll"] <= result["client"], result["wide"]
    assert result["wide"] == []
    assert result["styled"] == "solid"
    assert result["bar"] in (None, "30px")
    assert site.asked == ["/frame.html", "/report.html"]
    assert {url for url in requested(tmp_path) if not url.startswith(start)} == set()


def told(run: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """What a frame found out about its page."""
    shown = re.search(r"RESULT(.*)END", run.stdout.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert shown, run.stdout[:500]
    assert "CONSOLE" not in run.stderr, run.stderr
    return dict(json.loads(shown[1]))


def test_search_finds_filters_and_sorts_and_drawings_zoom(site: Site, chromium: str, tmp_path: Path) -> None:
    site.pages = {"/frame.html": SEARCHED, "/report.html": front(lab())}
    start = f"http://127.0.0.1:{site.port}/"
    result = told(browse(chromium, tmp_path, "--virtual-time-budget=9000", "--dump-dom", start + "frame.html"))
    assert result["up"] == sorted(result["up"])
    assert result["down"] == sorted(result["up"], reverse=True)
    assert result["up"] != result["down"]
    assert result["shown"] == ["persistent://lab/s3/multi-chunk"]
    assert re.fullmatch(r"#topic-\d+", result["link"])
    assert (result["scalable"], result["layouts"]) == ("#scalable-2", ["Zoom in", "Zoom out"])
    assert result["broken"] == sorted(result["broken"], key=str.lower)
    assert len(result["broken"]) > 3
    assert result["likely"] == len(result["sure"]) > 0
    assert set(result["sure"]) == {"likely"}
    assert result["none"] is True
    assert 3.9 < result["zoomed"] < 4.1
    assert (result["scrolls"], result["ticks"], result["wide"]) == (True, "inline", False)


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
@pytest.mark.parametrize("model", [differing_clusters(), hostile_clusters(HOSTILE)], ids=["differs", "hostile"])
def test_the_page_of_a_comparison_fits_and_is_silent(
    model: ComparisonModel, width: int, site: Site, chromium: str, tmp_path: Path
) -> None:
    site.pages = {"/frame.html": FRAME % width, "/report.html": render_comparison(model)}
    start = f"http://127.0.0.1:{site.port}/"
    result = told(browse(chromium, tmp_path, "--window-size=1400,1000", "--dump-dom", start + "frame.html"))
    assert (result["scroll"] <= result["client"], result["wide"], result["styled"]) == (True, [], "solid")
    assert {url for url in requested(tmp_path) if not url.startswith(start)} == set()


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
@pytest.mark.parametrize("name", ["lab", "large"])
def test_a_small_screen_begins_folded_and_no_column_is_squeezed(
    name: str, width: int, site: Site, chromium: str, tmp_path: Path
) -> None:
    site.pages = {"/frame.html": FOLDED % width, "/report.html": front(MODELS[name]())}
    start = f"http://127.0.0.1:{site.port}/frame.html"
    result = told(browse(chromium, tmp_path, "--virtual-time-budget=9000", "--dump-dom", start))
    assert (result["folded"] > 3) == (width == PHONE)
    if width == PHONE:
        assert result["high"] < 15_000 < result["full"]
    assert result["open"]  # what a link leads to
    assert -5 <= result["top"] <= 50
    assert result["cut"] == []
    assert result["narrow"] >= (60 if width == DESKTOP else 200)
    assert result["rules"] == 0  # never a line under a line


@pytest.mark.parametrize("page", ["repairs.html", "report/part-1.html"])
def test_every_page_searches(page: str, site: Site, chromium: str, tmp_path: Path) -> None:
    part = next(text for name, text in pages(*at_size(600, 1)) if name == "report/part-1.html")
    site.pages = {
        "/frame.html": FROM_ELSEWHERE % f"/{page}",
        "/report.html": front(lab()),
        "/report/part-1.html": part,
        "/repairs.html": render_repairs("lab", [], []),
    }
    start = f"http://127.0.0.1:{site.port}/frame.html"
    result = told(browse(chromium, tmp_path, "--virtual-time-budget=9000", "--dump-dom", start))
    assert (result["at"], result["field"]) == ("/report.html", "multi-chunk")
    assert "persistent://lab/s3/multi-chunk" in result["shown"]


def opening(chromium: str, folder: Path, address: str) -> float:
    """Seconds from the browser's start until the page is there, and its DOM written."""
    begun = time.monotonic()
    browse(chromium, folder, "--dump-dom", address)
    return time.monotonic() - begun


def test_a_whole_cluster_opens_from_files(
    chromium: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    folder = tmp_path / "out"
    (folder / "report").mkdir(parents=True)
    for name, text in pages(*at_size(2_000, 5)):
        (folder / name).write_text(text)
    (folder / "frame.html").write_text(AT_SIZE)
    (folder / "blank.html").write_text("<!doctype html>")
    seconds = {name: opening(chromium, tmp_path, f"file://{folder}/{name}.html") for name in ("blank", "report")}
    opened = seconds["report"] - seconds["blank"]
    record_property("opened_seconds", round(opened, 2))
    sys.stdout.write(f"2,000 topics and 10,000 subscriptions: {opened:.1f} s longer than an empty page\n")
    options = ("--allow-file-access-from-files", "--virtual-time-budget=20000", "--dump-dom")
    result = told(browse(chromium, tmp_path, *options, f"file://{folder}/frame.html"))
    assert len(result["shown"]) == 6
    assert result["shown"][0] == "persistent://tenant-4/namespace-15/orders-of-a-shop-01999-partition-7"
    assert result["told"].startswith("10,000 of ")
    assert result["rows"] == 200
    assert result["link"].startswith("report/part-")
    assert result["heading"] == result["shown"][0]
    assert result["tables"] > 0


def test_page_prints(site: Site, chromium: str, tmp_path: Path) -> None:
    site.pages = {"/report.html": front(lab())}
    target = tmp_path / "report.pdf"
    browse(
        chromium,
        tmp_path,
        "--no-pdf-header-footer",
        f"--print-to-pdf={target}",
        f"http://127.0.0.1:{site.port}/report.html",
    )
    pages = len(re.findall(rb"/Type\s*/Page\b", target.read_bytes()))
    assert 4 <= pages <= 24
