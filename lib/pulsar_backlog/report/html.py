"""What the pages of the report are drawn with: templates, our stylesheet and script, and the door for others' words.

No network, nothing to fetch; the script searches, sorts and zooms, and may be off.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from pulsar_backlog.counting import counted
from pulsar_backlog.findings import CATALOGUE
from pulsar_backlog.foreign_text import MAX_TEXT, visible
from pulsar_backlog.report import words
from pulsar_backlog.report.acks_view import where
from pulsar_backlog.report.clients import DANGEROUS, OUTCOMES
from pulsar_backlog.report.commands import run_of
from pulsar_backlog.report.consumers import sureness_words
from pulsar_backlog.report.growth import totals_words
from pulsar_backlog.report.layouts import HEIGHT, STATUS_WORDS, numbers
from pulsar_backlog.report.places import link
from pulsar_backlog.report.samples import SAMPLES
from pulsar_backlog.report.since import about, growth
from pulsar_backlog.report.views import missing_words, span_words, topic_name
from pulsar_backlog.subscriptions.advice import HOW, LABELS

WORDS_PAGE = "docs/verdicts.md"
"""The page that says what findings' words mean; a report carries what it says of them."""
UUID_LIMIT = 90
LONGEST_WORD = 20
"""Characters that fit the narrowest column without being broken."""

EVIDENCE_SHOWN = 4
FAULTS_SHOWN = 20

_GLOBALS = {
    "states": words.STATES,
    "flags": words.FLAGS,
    "lies": words.LIES,
    "sureness_words": words.SURENESS,
    "severities": words.SEVERITIES,
    "evidence_shown": EVIDENCE_SHOWN,
    "samples": SAMPLES,
    "needs": LABELS,
    "how": HOW,
    "outcome_words": OUTCOMES,
    "dangerous": DANGEROUS,
    "status_words": STATUS_WORDS,
    "layout_height": HEIGHT,
    "faults_shown": FAULTS_SHOWN,
}


def stylesheet() -> dict[str, str]:
    """What every page is given of its style: `css`, and `css_digest` for the policy that allows nothing else."""
    return _inline("css")


def script() -> dict[str, str]:
    """The report's own script, likewise: `js` and `js_digest`."""
    return _inline("js")


def _inline(kind: str) -> dict[str, str]:
    text = resources.files("pulsar_backlog.report").joinpath(f"templates/report.{kind}").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return {kind: Markup(text), f"{kind}_digest": digest}  # noqa: S704 - our own file


def escaping_environment() -> Environment:
    """Templates of any page: autoescape is on for every one; a name that is missing is an error."""
    return Environment(
        loader=PackageLoader("pulsar_backlog", "report/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def report_environment() -> Environment:
    """Templates of the report's pages, with the words and filters that they use."""
    environment = escaping_environment()
    environment.filters |= {
        "foreign": foreign,
        "shown": visible,
        "uuid": lambda text: foreign(text, UUID_LIMIT),
        "topic": lambda topic: _fenced(topic_name(topic)),
        "size": words.byte_size,
        "utc": words.utc_time,
        "axis": lambda time_ms: words.utc_time(time_ms)[:19],
        "duration": words.duration,
        "counted": counted,
        "blocked_sureness": lambda acks: sureness_words(acks.blocked, acks.sureness),
        "number": lambda value: "unknown" if value is None else f"{value:,}",
        "spaced": words.spaced,
        "flag_words": words.flag_words,
        "span": span_words,
        "missing": missing_words,
        "sql_command": lambda query, model: run_of(model).command("sql", f'"{query}"'),
        "where": where,
        "about": about,
        "growth": growth,
        "numbers": numbers,
        "backlogs": totals_words,
        "linked": linked,
        "anchor": anchor,
        "link": link,
    }
    environment.globals |= _GLOBALS
    return environment


@cache
def load_templates() -> None:
    """Compile all templates of the report, once: that takes a quarter of a second."""
    for name in report_environment().list_templates(["j2"]):
        report_environment().get_template(name)


def anchor(code: str) -> str:
    """A code as a part of an id: ours as they are, others' words as a digest."""
    return code if code in CATALOGUE else hashlib.sha256(code.encode(errors="surrogatepass")).hexdigest()[:16]


def linked(text: str) -> Markup:
    """Our own words, in which a page of the documentation leads to what each page of the report says of it."""
    link = Markup('<a href="#words">What the words mean</a>')
    return link.join(escape(part) for part in text.split(WORDS_PAGE))


def foreign(text: str, limit: int = MAX_TEXT) -> Markup:
    """Text from a topic: made visible, escaped, and kept from turning the direction of its surroundings.

    Ordinary words need no such fence; the style sheet breaks long words inside `bdi` only.
    """
    shown = visible(text, limit)
    if shown.isascii() and max(map(len, shown.split()), default=0) <= LONGEST_WORD:
        return escape(shown)
    return _fenced(shown)


def _fenced(shown: str) -> Markup:
    return Markup(f"<bdi>{escape(shown)}</bdi>")  # noqa: S704 - `Markup.format` takes ten times as long, for each row
