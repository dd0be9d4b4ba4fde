"""Where the report's sections and lists lie: the front page, and a folder of pages beside it."""

from __future__ import annotations

from typing import Literal, NamedTuple

FRONT, FOLDER, REPAIRS = "report.html", "report", "repairs.html"
PAGES = {"topic": "part", "scalable": "scalable"}
"""Pages of the folder that hold sections of a kind."""


class Place(NamedTuple):
    """A topic's section: page 0 is the front page, the others are numbered in the folder; sections count from 1.

    Attributes:
        kind: of sections; topics and scalable topics are numbered apart, on pages of their own.
    """

    page: int
    section: int
    kind: Literal["topic", "scalable"] = "topic"


NOWHERE = Place(0, 0)
"""Of what has no section, as the search has it."""


def page_name(kind: str, number: int) -> str:
    """The name of a page within the folder."""
    return f"{kind}-{number}.html"


def link(place: Place, inside: bool) -> str:
    """Leads to a section, from the front page or from `inside` the folder."""
    anchor = f"#{place.kind}-{place.section}"
    if not place.page:
        return f"../{FRONT}{anchor}" if inside else anchor
    name = page_name(PAGES[place.kind], place.page)
    return f"{name}{anchor}" if inside else f"{FOLDER}/{name}{anchor}"
