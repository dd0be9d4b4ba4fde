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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))

from pulsar_backlog.report.html import render
from pulsar_backlog.report.model import ReportModel
from tests.report.sample_extremes import hostile, huge
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

# The same for the page's own script: what is typed, what is then shown, and the order after a click on a heading.
SEARCHED = """<!doctype html><link rel="icon" href="data:,"><body>
<iframe src="/report.html" style="border:0;width:1280px;height:900px"></iframe>
<script>
document.querySelector("iframe").addEventListener("load", event => {
  const page = event.target.contentDocument;
  const rows = [...page.querySelectorAll("table.topics tbody tr")];
  const field = page.getElementById("search-field");
  const names = () => [...page.querySelectorAll("table.topics tbody tr")].map(r => r.cells[0].textContent);
  const sizes = () => [...page.querySelectorAll("table.topics tbody tr")].map(r => Number(r.cells[3].dataset.sort));
  const before = rows.length;
  page.querySelectorAll("table.topics thead button")[3].click();
  const up = sizes();
  page.querySelectorAll("table.topics thead button")[3].click();
  const down = sizes();
  field.value = "MULTI-chunk";
  field.dispatchEvent(new Event("input"));
  setTimeout(() => {
    const shown = rows.filter(r => !r.hidden).map(r => r.cells[0].textContent);
    const sections = [...page.querySelectorAll("article.topic")].filter(a => !a.hidden).length;
    field.value = "";
    field.dispatchEvent(new Event("input"));
    setTimeout(() => {
      const again = rows.filter(r => !r.hidden).length;
      const result = { before, up, down, shown, sections, again, count: names().length };
      document.body.textContent = "RESULT" + JSON.stringify(result) + "END";
    }, 400);
  }, 400);
});
</script>"""


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
    site.pages = {"/frame.html": FRAME % width, "/report.html": render(MODELS[name]())}
    start = f"http://127.0.0.1:{site.port}/"
    run = browse(chromium, tmp_path, "--window-size=1400,1000", "--dump-dom", start + "frame.html")
    shown = re.search(r"RESULT(.*)END", run.stdout.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert shown, run.stdout[:500]
    result = json.loads(shown[1])
    assert result["client"] == width - (15 if result["client"] < width else 0)  # a scroll bar may take its part
    assert result["scroll"] <= result["client"], result["wide"]
    assert result["wide"] == []
    assert result["styled"] == "solid"
    assert result["bar"] in (None, "30px")
    assert "CONSOLE" not in run.stderr, run.stderr
    assert site.asked == ["/frame.html", "/report.html"]
    assert {url for url in requested(tmp_path) if not url.startswith(start)} == set()


def test_search_hides_what_does_not_match_and_headings_sort(site: Site, chromium: str, tmp_path: Path) -> None:
    site.pages = {"/frame.html": SEARCHED, "/report.html": render(lab())}
    start = f"http://127.0.0.1:{site.port}/"
    run = browse(chromium, tmp_path, "--virtual-time-budget=5000", "--dump-dom", start + "frame.html")
    shown = re.search(r"RESULT(.*)END", run.stdout)
    assert shown, run.stdout[:500]
    result = json.loads(shown[1])
    assert result["before"] == result["count"] == result["again"] == len(lab().topics)
    assert result["up"] == sorted(result["up"])
    assert result["down"] == sorted(result["up"], reverse=True)
    assert result["up"] != result["down"]
    assert result["shown"] == ["persistent://lab/s3/multi-chunk"]
    assert result["sections"] == 1
    assert "CONSOLE" not in run.stderr, run.stderr


def test_page_prints(site: Site, chromium: str, tmp_path: Path) -> None:
    site.pages = {"/report.html": render(lab())}
    target = tmp_path / "report.pdf"
    browse(
        chromium,
        tmp_path,
        "--no-pdf-header-footer",
        f"--print-to-pdf={target}",
        f"http://127.0.0.1:{site.port}/report.html",
    )
    pages = len(re.findall(rb"/Type\s*/Page\b", target.read_bytes()))
    assert 4 <= pages <= 20
