"""The report as HTML files: one that holds everything, or, beyond a bound, a front page and a folder of pages.

Sections and rows are drawn one by one and packed by their bytes, so that no page grows beyond what a browser opens at
once. The front page comes last: it links all others, and its search knows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from markupsafe import Markup

from pulsar_backlog.report.codes import in_order
from pulsar_backlog.report.html import report_environment, script, stylesheet
from pulsar_backlog.report.listed import (
    TopicLine,
    scalable_topic_line,
    search_data,
    subscription_line,
    topic_with_section,
    topic_without_section,
)
from pulsar_backlog.report.model import ListedTopic, ReportModel, TopicSection
from pulsar_backlog.report.places import FOLDER, FRONT, Place, page_name
from pulsar_backlog.report.scalable_view import scalable_view
from pulsar_backlog.report.views import MAX_ROWS_PER_CODE, judged, page, topic_view

MAX_PAGE_BYTES = 1_900_000
"""What the front page may have, with what its search knows."""

ALL_IN_ONE_BYTES = 1_500_000
"""While all sections together have no more, they stand on the front page, which is then the whole report."""

FIRST_BYTES = 250_000
"""Otherwise as many of the worst stand there."""

SCALABLE_BYTES = 150_000
"""Of sections of scalable topics on the front page; the others have pages in the folder."""

PACK_BYTES = 1_400_000
"""Of sections or rows on one page of the folder."""

FRONT_ROWS = 100
"""Topics that the front page lists where there are lists of all."""

FEW_ROWS_PER_CODE = 8
"""Findings per code on the front page where there are lists of all."""

MANY_ROWS = 500
"""More subscriptions or findings than this have lists of their own, however few the topics."""

_DATA = '<script type="application/json" id="search-data">'
_WHAT = {"part": "Topics in full", "topics": "All topics", "subscriptions": "Subscriptions", "findings": "Findings"}

Drawn = tuple[int, str]
"""The number of a section or row, from 0, and its HTML."""


@dataclass(frozen=True)
class ListPage:
    """A page of the folder, as the front page links it."""

    name: str
    words: str


@dataclass(frozen=True)
class ListPages:
    """All pages of one kind."""

    title: str
    pages: tuple[ListPage, ...]


@dataclass(frozen=True)
class Front:
    """What the front page says of topics: its rows and sections are drawn already."""

    topics: Sequence[Markup]
    topic_total: int
    sections: Sequence[Markup]
    lists: Sequence[ListPages]
    places: Mapping[str | None, Place | None]
    scalable: Sequence[Markup]
    scalable_pages: Sequence[ListPage]


def pages(
    model: ReportModel, further: Iterable[Sequence[TopicSection]] = (), rest: Iterable[ListedTopic] = ()
) -> Iterator[tuple[str, str]]:
    """Name and text of each file, one after the other, the front page last.

    The same values give the same text. One batch of topics is held at a time, and of those before it a line each.

    Args:
        model: what the front page says, with the first batch of topics.
        further: the other batches.
        rest: topics without a section.
    """
    report = _Report(model)
    yield from report.sections(chain([model.topics], further))
    report.lines += map(topic_without_section, rest)
    report.lines.sort(key=lambda line: line.order)
    yield from report.scalable_sections()
    if report.is_large:
        yield from report.lists()
    yield FRONT, report.front()


@dataclass
class _Report:
    """What is known of the pages that were given out."""

    model: ReportModel
    lines: list[TopicLine] = field(default_factory=list)
    first: list[Drawn] = field(default_factory=list)
    made: dict[str, list[ListPage]] = field(default_factory=dict)
    scalable: list[TopicLine] = field(default_factory=list)
    first_scalable: list[Drawn] = field(default_factory=list)

    @property
    def is_large(self) -> bool:
        """Whether there are lists of everything, and the front page shows the worst only."""
        return "part" in self.made or max(len(self.model.subscriptions), len(self.model.findings)) > MANY_ROWS

    def sections(self, batches: Iterable[Sequence[TopicSection]]) -> Iterator[tuple[str, str]]:
        """Topics in full: all of them for the front page, or the first there and the others in the folder."""
        drawn = self._drawn(batches)
        self.first, more = _taken(drawn, ALL_IN_ONE_BYTES)
        if more is None:
            return
        together = self.first
        self.first, over = _taken(iter(together), FIRST_BYTES)
        waiting = [] if over is None else [over, *together[len(self.first) + 1 :]]
        for pack, is_last in _with_last(_packed(chain(waiting, [more], drawn), PACK_BYTES)):
            number = len(self.made.get("part", ())) + 1
            for at, _ in pack:
                self.lines[at] = replace(self.lines[at], place=Place(number, at + 1))
            title = f"Topics {pack[0][0] + 1:,} to {pack[-1][0] + 1:,}"
            content = Markup("<h2>In full, the worst first</h2>\n") + Markup("").join(_texts(pack))
            yield self._in_folder("part", pack, title, content, is_last=is_last)

    def _drawn(self, batches: Iterable[Sequence[TopicSection]]) -> Iterator[Drawn]:
        draw = _macros("section.html.j2").section
        for batch in batches:
            for one in judged(batch):
                at = len(self.lines)
                self.lines.append(topic_with_section(one, Place(0, at + 1)))
                yield at, draw(topic_view(self.model, at, *one))

    def scalable_sections(self) -> Iterator[tuple[str, str]]:
        """Scalable topics in full: the worst for the front page, the others in the folder."""
        topics = self.model.scalable.topics
        self.scalable = [scalable_topic_line(one, Place(0, at + 1, "scalable")) for at, one in enumerate(topics)]
        draw, places = _macros("scalable.html.j2").section, self._places()
        views = [scalable_view(self.model, at, one) for at, one in enumerate(topics)]
        self.first_scalable, over = _taken(((at, draw(v, places, False)) for at, v in enumerate(views)), SCALABLE_BYTES)
        if over is None:
            return
        drawn = ((at, draw(views[at], places, True)) for at in range(len(self.first_scalable), len(views)))
        for pack, is_last in _with_last(_packed(drawn, PACK_BYTES)):
            number = len(self.made.get("scalable", ())) + 1
            for at, _ in pack:
                self.scalable[at] = replace(self.scalable[at], place=Place(number, at + 1, "scalable"))
            title = f"Scalable topics {pack[0][0] + 1:,} to {pack[-1][0] + 1:,}"
            content = Markup("<h2>Scalable topics, the worst first</h2>\n") + Markup("").join(_texts(pack))
            yield self._in_folder("scalable", pack, title, content, is_last=is_last)

    def lists(self) -> Iterator[tuple[str, str]]:
        """Every topic, subscription and finding in a line."""
        places = self._places()
        macros = _macros("rows.html.j2")
        of_kinds: Mapping[str, Iterable[tuple[Any, str | None]]] = {
            "topics": ((line, line.topic) for line in self.lines),
            "subscriptions": ((subscription_line(one), one.topic) for one in self.model.subscriptions),
            "findings": ((row, row["topic"]) for row in in_order(self.model.findings, self.model.finding_totals)),
        }
        for kind, lines in of_kinds.items():
            draw = getattr(macros, kind)
            drawn = ((at, draw(line, places.get(topic), True)) for at, (line, topic) in enumerate(lines))
            for pack, is_last in _with_last(_packed(drawn, PACK_BYTES)):
                title = f"{_WHAT[kind]}, {pack[0][0] + 1:,} to {pack[-1][0] + 1:,}"
                content = macros.table(kind, "The worst first", _texts(pack))
                yield self._in_folder(kind, pack, title, content, is_last=is_last)

    def front(self) -> str:
        """The front page, with what its search knows."""
        large = self.is_large
        places = self._places()
        draw = _macros("rows.html.j2").topics
        front = Front(
            topics=[draw(line, line.place, False) for line in self.lines[: FRONT_ROWS if large else None]],
            topic_total=len(self.lines),
            sections=_texts(self.first),
            lists=[ListPages(_WHAT[kind], tuple(made)) for kind, made in self.made.items() if kind in _WHAT],
            places=places,
            scalable=_texts(self.first_scalable),
            scalable_pages=tuple(self.made.get("scalable", ())),
        )
        body = page(self.model, FEW_ROWS_PER_CODE if large else MAX_ROWS_PER_CODE)
        text = _page("report", self.model, page=body, front=front)
        before, tag, after = text.rpartition(_DATA)
        room_bytes = MAX_PAGE_BYTES - len(text.encode())
        subscriptions = map(subscription_line, self.model.subscriptions)
        data = search_data([*self.lines, *self.scalable], subscriptions, self.model, room_bytes)
        return f"{before}{tag}{data}{after}"

    def _places(self) -> dict[str | None, Place | None]:
        return {line.topic: line.place for line in (*self.lines, *self.scalable)}

    def _in_folder(
        self, kind: str, pack: Sequence[Drawn], title: str, content: Markup, *, is_last: bool
    ) -> tuple[str, str]:
        made = self.made.setdefault(kind, [])
        before = made[-1].name.rpartition("/")[2] if made else None
        name = f"{FOLDER}/{page_name(kind, len(made) + 1)}"
        made.append(ListPage(name, f"{pack[0][0] + 1:,} to {pack[-1][0] + 1:,}"))
        after = None if is_last else page_name(kind, len(made) + 1)
        return name, _page("part", self.model, title=title, before=before, after=after, content=content)


def _page(template: str, model: ReportModel, **values: object) -> str:
    made = report_environment().get_template(f"{template}.html.j2")
    return made.render(model=model, **values, **stylesheet(), **script())


def _macros(name: str) -> Any:
    return report_environment().get_template(name).module


def _texts(pack: Iterable[Drawn]) -> list[Markup]:
    """Drawn by our templates, which escaped what had to be."""
    return [Markup(text) for _, text in pack]  # noqa: S704


def _with_last(packs: Iterable[list[Drawn]]) -> Iterator[tuple[list[Drawn], bool]]:
    """Each of them, and whether it is the last: one is held back."""
    waiting: list[Drawn] | None = None
    for pack in packs:
        if waiting is not None:
            yield waiting, False
        waiting = pack
    if waiting is not None:
        yield waiting, True


def _taken(drawn: Iterator[Drawn], limit_bytes: int) -> tuple[list[Drawn], Drawn | None]:
    """The first of them that have no more bytes together, and the one after them if there is one."""
    taken: list[Drawn] = []
    for one in drawn:
        limit_bytes -= len(one[1].encode())
        if limit_bytes < 0 and taken:
            return taken, one
        taken.append(one)
    return taken, None


def _packed(drawn: Iterable[Drawn], limit_bytes: int) -> Iterator[list[Drawn]]:
    """All of them, in packs that have no more bytes, but for one that is larger by itself."""
    following: Drawn | None = None
    rest = iter(drawn)
    while True:
        pack, following = _taken(rest if following is None else chain([following], rest), limit_bytes)
        if pack:
            yield pack
        if following is None:
            return
