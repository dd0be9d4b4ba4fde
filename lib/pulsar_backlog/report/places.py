"""Where the report's sections and lists lie: the front page, and a folder of pages beside it."""

from __future__ import annotations

from typing import NamedTuple

FRONT, FOLDER = "report.html", "report"


class Place(NamedTuple):
    """A topic's section: page 0 is the front page, the others are numbered in the folder; sections count from 1."""

    page: int
    section: int


def page_name(kind: str, number: int) -> str:
    """The name of a page within the folder."""
    return f"{kind}-{number}.html"


def link(place: Place, inside: bool) -> str:
    """Leads to a section, from the front page or from `inside` the folder."""
    anchor = f"#topic-{place.section}"
    if not place.page:
        return f"../{FRONT}{anchor}" if inside else anchor
    name = page_name("part", place.page)
    return f"{name}{anchor}" if inside else f"{FOLDER}/{name}{anchor}"
