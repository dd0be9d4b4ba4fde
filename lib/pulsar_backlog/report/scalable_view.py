"""The section of a scalable topic, as the template draws it."""

from __future__ import annotations

from dataclasses import dataclass

from pulsar_backlog.report.codes import by_code
from pulsar_backlog.report.layouts import LayoutDrawing, layout_drawing
from pulsar_backlog.report.model import ReportModel
from pulsar_backlog.report.scalable import ScalableTopic, scalable_grade, scalable_line
from pulsar_backlog.report.verdict import Grade
from pulsar_backlog.report.views import MAX_OPEN, MAX_ROWS_PER_TOPIC_CODE, CodeView, code_views


@dataclass(frozen=True)
class ScalableView:
    """One scalable topic on the page.

    Attributes:
        anchor: id of its section.
    """

    topic: ScalableTopic
    anchor: str
    unfolded: bool
    grade: Grade
    line: str
    drawing: LayoutDrawing | None
    codes: tuple[CodeView, ...]


def scalable_view(model: ReportModel, at: int, topic: ScalableTopic) -> ScalableView:
    """A scalable topic's section; `at` counts them from 0, the worst first."""
    grade = scalable_grade(topic)
    return ScalableView(
        topic=topic,
        anchor=f"scalable-{at + 1}",
        unfolded=at < MAX_OPEN and grade in ("broken", "incomplete"),
        grade=grade,
        line=scalable_line(topic),
        drawing=layout_drawing(topic.listed),
        codes=code_views(model, by_code(topic.findings, topic.finding_totals), MAX_ROWS_PER_TOPIC_CODE),
    )
