"""Several consumers on one subscription of a real broker: it does what a forecast says of its release."""

from __future__ import annotations

import pytest

from pulsar_backlog.chunks.dispatch.forecast import consumers_of, forecast
from pulsar_backlog.chunks.dispatch.settings import DispatchType
from tests.broker.process import Broker
from tests.broker.publishing import publish
from tests.several_consumers.conftest import NewGroup
from tests.several_consumers.group import entries_of, incomplete, stored_entries
from tests.several_consumers.releases import Release


@pytest.mark.parametrize(
    ("dispatch", "tokens", "consumers", "event"),
    [
        pytest.param("Shared", "A0/2 .B C0/2 A1/2 C1/2 .D", "python", "", id="whole messages"),
        pytest.param(
            "Shared", "A0/3 B0/3 A1/3 B1/3 C0/2 A2/3 B2/3 C1/2", "python, java 4.2, python", "",
            id="interleaved, three consumers",
        ),
        pytest.param("Shared", "A1/3 A2/3 .B C0/2 C1/2", "python, python", "", id="headless, one batch"),
        pytest.param("Shared", "A0/3 A1/3 .B", "python, python", "unload", id="open message, unload"),
        pytest.param("Shared", "A0/3 A1/3 .B", "java 4.2, java 4.2", "unload", id="open message, unload, Java"),
        pytest.param("Shared", "A0/3 A1/3 .B", "python, python", "restart", id="open message, restart"),
        pytest.param("Shared", "A0/3 A2/3 .B", "python", "", id="gap"),
        pytest.param("Shared", "A0/3 A2/3 .B", "java 4.2", "", id="gap, Java"),
        pytest.param("Shared", "A1/2 .B", "python, python", "join java 4.2", id="headless, one joins"),
        pytest.param("Shared", "A0/3 .B A1/3", "python, python", "leave c1", id="open message, one leaves"),
        pytest.param("Key_Shared", "A0/2 B0/2 A1/2 .C B1/2", "python, java 4.2", "", id="Key_Shared"),
        pytest.param("Key_Shared", "A0/3 .A A1/3 .B", "python, python", "leave c1", id="Key_Shared, one leaves"),
    ],
)  # fmt: skip
def test_a_broker_does_what_a_forecast_says(
    broker: Broker, release: Release, topic: str, group: NewGroup, dispatch: DispatchType, tokens: str, consumers: str,
    event: str,
) -> None:  # fmt: skip
    entries = entries_of(tokens)
    members = group(dispatch)
    publish(broker, topic, entries)
    stages = forecast(
        stored_entries(entries), consumers_of(consumers, 1000), [event] if event else [], broker=release.line,
        dispatch=dispatch,
    )  # fmt: skip
    for number, kind in enumerate(consumers.split(", "), 1):
        members.join(f"c{number}", kind)
    seen = [members.settled()]
    if event:
        members.event(event)
        seen.append(members.settled())
    still_open = incomplete(entries)  # a forecast waits until clients give them up, a test does not
    for stage, (came, left) in zip(stages, seen, strict=True):
        assert stage.delivered[0] <= came <= stage.delivered[1], (stage.event, members.got)
        assert stage.certain.backlog[0] <= left <= stage.certain.backlog[1] + still_open, (stage.event, members.got)
