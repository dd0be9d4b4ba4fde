"""Which audits are compared, and how their names meet."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from pulsar_backlog.options.checks import Uri, as_tuple
from pulsar_backlog.options.words import Frozen, Words


def _pair(text: str) -> str:
    here, equals, there = text.partition("=")
    if not (equals and here and there) or "=" in there:
        raise ValueError(f"{text!r} is not TOPIC_A=TOPIC_B")
    return text


TopicPairText = Annotated[str, AfterValidator(_pair)]


class ComparisonOptions(Frozen):
    """Which audits are compared, and how their names meet."""

    audit_a: Annotated[Uri | None, Words("folder or bucket of the tables of the first audit", place=True)] = None
    audit_b: Annotated[Uri | None, Words("folder or bucket of the tables of the second audit", place=True)] = None
    cluster_b: Annotated[
        Annotated[str, Field(min_length=1)] | None,
        Words("name of the cluster in the tables of the second audit; default: the only one there is"),
    ] = None
    map_topic: Annotated[
        Annotated[tuple[TopicPairText, ...], BeforeValidator(as_tuple)] | None,
        Words(
            "compare only this topic of the first audit with one of another name in the second: TOPIC_A=TOPIC_B, full "
            "names; may be repeated"
        ),
    ] = None
