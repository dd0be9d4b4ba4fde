"""Reads a page as a strict browser would, and keeps what tests ask about."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

from pulsar_backlog.report.model import ReportModel
from pulsar_backlog.report.pages import pages
from pulsar_backlog.report.places import FRONT


def front(model: ReportModel) -> str:
    """The front page of a report."""
    return dict(pages(model))[FRONT]


VOID = {"meta", "link", "br", "hr", "img", "input"}
SVG_LEAVES = {"rect", "path", "circle", "line"}


@dataclass
class Element:
    tag: str
    attrs: dict[str, str | None]
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        found = [self] if self.tag == tag else []
        for child in self.children:
            found += child.all(tag)
        return found

    def everything(self) -> list[Element]:
        found = [self]
        for child in self.children:
            found += child.everything()
        return found

    def full_text(self) -> str:
        return self.text + "".join(child.full_text() for child in self.children)


class PageReader(HTMLParser):
    """Fails on a tag that is not closed in order; `root` is the tree."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("root", {})
        self.open = [self.root]
        self.declarations: list[str] = []
        self.comments: list[str] = []
        self.feed(page)
        self.close()
        assert [e.tag for e in self.open] == ["root"], "tags are left open"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"attribute twice in {tag}"
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in SVG_LEAVES, f"<{tag}/> is closed in SVG only"
        self.open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].text += data

    def handle_decl(self, decl: str) -> None:
        self.declarations.append(decl)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)
