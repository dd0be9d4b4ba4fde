"""Great Expectations' Data Docs as a static site that needs no network.

As they come, the pages load styles and scripts from seven hosts and are bare without them. Here they get a
stylesheet of our own for the class names they use, no scripts at all, and a policy that forbids any: names of
topics and ledgers come from the audited data. The front page, which scripts would have to draw, is ours.
"""

from __future__ import annotations

import html
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

_SITE = "local_site"  # the site that every context begins with
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

_SCRIPT = re.compile(r"<script\b.*?</script\s*>", re.DOTALL | re.IGNORECASE)
_LINK_OR_IMAGE = re.compile(r"<(?:link|img)\b[^>]*>", re.IGNORECASE)
_REMOTE_STYLE = re.compile(r"url\('https?:[^']*'\)")

_INDEX = """<!DOCTYPE html>
<html lang="en"><head><meta charset="UTF-8"><title>Data quality</title>
<meta name="viewport" content="width=device-width, initial-scale=1.0"></head>
<body><main class="container-fluid"><h1>Data quality</h1>
<p>Rules checked by Great Expectations over summaries of the audit. A rule that fails names the rows.</p>
<table class="table"><thead><tr>
<th scope="col">Summary</th><th scope="col">Rules</th><th scope="col">Failed</th></tr></thead>
<tbody>{rows}</tbody></table></main></body></html>
"""
_INDEX_ROW = (
    '<tr class="{state}"><th scope="row"><a href="{href}">{name}</a></th><td>{count}</td><td>{failed}</td></tr>\n'
)

_NO_ASSET = "Data asset: None"
_LANDMARKS = (
    ("<html>", '<html lang="en">'),
    ('<nav class="navbar ', '<div role="banner" class="navbar '),
    ("</nav>\n  </div>\n</nav>", "</nav>\n  </div>\n</div>"),
    ('<nav class="d-flex ', '<nav aria-label="Where this page is" class="d-flex '),
    ('<nav id="navigation" ', '<nav id="navigation" aria-label="Contents" '),
    ('<div class="col-md-10 col-lg-10 ', '<div role="main" class="col-md-10 col-lg-10 '),
    ("<h4", '<h4 aria-level="1"'),
    ("<h5", '<h5 aria-level="2"'),
    ("<h6", '<h6 aria-level="3"'),
)
"""What tells a screen reader the parts of a page: Great Expectations' markup, and the same as landmarks and headings.

Names of the audited data are escaped in it, so that none can look like markup.
"""


def write_data_docs(context: Any, passed: Mapping[str, Sequence[bool]], folder: Path) -> None:
    """Write the pages of everything that was validated in a context; replaces the folder.

    Args:
        context: Great Expectations context that holds the validations.
        passed: by summary, whether each of its rules passed.
        folder: where the site goes.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".data_docs-") as made:
        site = Path(made) / "site"
        context.update_data_docs_site(_SITE, _site_config(site))
        context.build_data_docs(build_index=False)  # the front page is ours
        shutil.rmtree(site / "static")  # 4 MB of fonts and pictures, of which the pages use an icon
        (site / "index.html").write_text(_index(site, passed), "utf-8")
        for page in site.rglob("*.html"):
            text = offline(page.read_text("utf-8"))
            page.write_text(_with_asset(text, page.relative_to(site)), "utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        site.rename(folder)


def offline(page: str) -> str:
    """A page without anything that would be loaded from elsewhere or run, and with landmarks."""
    for markup, landmark in _LANDMARKS:
        page = page.replace(markup, landmark)
    for loads in (_SCRIPT, _LINK_OR_IMAGE, _REMOTE_STYLE):
        page = loads.sub("", page)
    head = f'<head>\n<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    style = f"<style>\n{_stylesheet()}</style>\n</head>"
    return page.replace("<head>", head, 1).replace("</head>", style, 1)


def _with_asset(page: str, path: Path) -> str:
    """A page of validations that names the table it is about, which Great Expectations forgets of a frame."""
    return page.replace(_NO_ASSET, f"Data asset: {path.parts[1]}") if path.parts[0] == "validations" else page


def _stylesheet() -> str:
    return files(__package__).joinpath("data_docs.css").read_text("utf-8")


def _site_config(site: Path) -> dict[str, Any]:
    return {
        "class_name": "SiteBuilder",
        "show_how_to_buttons": False,
        "store_backend": {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(site)},
        "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
        "site_section_builders": {"profiling": "None"},  # nothing is profiled
    }


def _index(site: Path, passed: Mapping[str, Sequence[bool]]) -> str:
    rows = []
    for summary, outcomes in passed.items():
        page = next((site / "validations" / summary).rglob("*.html"))
        failed = outcomes.count(False)
        href = html.escape(quote(str(page.relative_to(site))))
        state = "failed" if failed else "passed"
        name = summary.replace("_", " ")
        rows.append(_INDEX_ROW.format(href=href, name=name, count=len(outcomes), failed=failed, state=state))
    return _INDEX.format(rows="".join(rows))
