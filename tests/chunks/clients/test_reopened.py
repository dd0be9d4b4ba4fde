"""What comes of opening consumers again: models against real clients that were opened on what others had left."""

from __future__ import annotations

import pytest

from pulsar_backlog.chunks.clients.events import LogEntry, Publication
from pulsar_backlog.chunks.clients.models import CURRENT
from pulsar_backlog.chunks.clients.reopened import Reopened, Stop, models_to_ask
from tests.chunks.clients.logs import log
from tests.chunks.clients.runs import MORE_DATA, Run, load_runs
from tests.chunks.clients.test_topic_run import in_logs

MODELS = models_to_ask(())


def asked(
    entries: list[LogEntry], type_: str | None = "Exclusive", models: tuple[str, ...] = MODELS
) -> tuple[dict[Publication, set[str]], list[Stop]]:
    """Models that do not deliver each publication, and what stops which model."""
    opened = Reopened(models, type_, entries[-1].stored_ms if entries else 0)
    opened.offer_all(entries, in_logs(entries))
    opened.finish()
    losses: dict[Publication, set[str]] = {}
    for loss in opened.losses():
        losses.setdefault((loss.chunk_uuid, loss.publish_time_ms), set()).add(loss.model)
    return losses, list(opened.stops())


def lost(text: str, type_: str | None = "Exclusive", **more: tuple[str, ...]) -> dict[str, set[str]]:
    """Models by letter of the message that they do not deliver; a small letter is the earlier publication."""
    entries = log(text)
    times = sorted({entry.publication[1] for entry in entries})
    found = asked(entries, type_, **more)[0]
    return {uuid if time == times[-1] else uuid.lower(): models for (uuid, time), models in found.items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("A0 A1 A2", {}, id="delivered by all"),
        pytest.param("a0 a1 A0 A1 A2", {"A": {"python"}}, id="an unfinished one under the uuid comes before it"),
        pytest.param("A0 A1 A2 a0 a1", {}, id="it comes after it"),
        pytest.param("A0 A1 A0 A1 A2", {"A": {"python"}}, id="a repeated beginning"),
        pytest.param("A0 A2 A1", {"A": {"java", "python", "go"}}, id="out of order: nobody delivers it"),
        pytest.param("A0 A1", {}, id="not whole: nothing to lose"),
    ],
)
def test_who_loses_a_message(text: str, expected: dict[str, set[str]]) -> None:
    assert lost(text) == expected


def test_a_client_that_was_full_has_forgotten_it() -> None:
    """Java and Python gave the first one up when twelve were open; it is all that is left."""
    letters = "ABCDEFGHIJKL"
    interleaved = " ".join(f"{letter}{at}" for at in range(3) for letter in letters)
    assert {"java", "python"} <= set().union(*lost(interleaved).values())
    assert lost("A0 A1 A2") == {}


def test_what_stops_a_client_is_told_with_its_place() -> None:
    entries = log("A0 A1 A2 B0 B1 B2")
    garbage = [entry._replace(codec="ZSTD", payload="garbage") for entry in entries[:3]] + entries[3:]
    losses, stops = asked(garbage)
    assert stops == [("java", "reconnect_loop", (1, 2))]
    assert [stops[0].is_before(entry.position) for entry in entries[1:4]] == [False, True, True]
    assert losses[entries[0].publication] == {"java", "python", "go"}
    assert entries[3].publication not in losses


def test_a_client_that_dies_may_take_what_came_before_with_it() -> None:
    """C++ was seen to die before the application got the message that was stored before."""
    entries = log("A0 A1 A2 B0 B1 B2")
    small = [*entries[:3], *(entry._replace(total_bytes=10) for entry in entries[3:])]
    stop = next(stop for stop in asked(small)[1] if stop.model == "python")
    assert (stop.damage, stop.is_before(entries[0].position)) == ("process_death", True)


def test_a_type_that_nothing_tells_is_played_both_ways() -> None:
    entries = log("A1 A2 B0 B1 B2")
    assert asked(entries, "Exclusive")[1] == []
    both, shared = (asked(entries, type_)[1] for type_ in (None, "Shared"))
    assert both == shared
    assert {stop.model for stop in shared} == {"java", "python", "go"}


def test_every_family_is_asked_with_the_settings_that_are_given() -> None:
    assert models_to_ask(()) == ("java", "python", "go")
    assert models_to_ask(["java:max_pending=50", "sql"]) == ("java:max_pending=50", "python", "go")
    assert models_to_ask(["C-330", "go", "go"]) == ("C-330", "go", "java")


def test_settings_of_a_run_from_the_beginning_do_not_count() -> None:
    assert lost("A0 A1 A2", models=("java:start=9:0,restart_after=9:1,live",)) == {}


def opened_on_what_was_left(run: Run) -> bool:
    """Whether the run is that of a current release with default limits, which was opened once."""
    facts = run.facts
    usual = facts["max_pending"] in (10, 100) and not facts["auto_ack"] and facts["queue"] == 1000
    once = facts.get("reconnect_ms") is None and facts.get("ack_timeout_ms") is None
    return facts["profile"] in set(CURRENT.values()) and usual and once and not (facts["live"] and facts["pass"] == 1)


def is_chunk(entry: LogEntry) -> bool:
    """As the jobs tell chunks from plain messages."""
    return bool(entry.uuid) or entry.chunk_id is not None or entry.num_chunks is not None


RUNS = [run for run in (*load_runs(), *load_runs(MORE_DATA)) if opened_on_what_was_left(run)]


def test_what_no_client_loses_really_came() -> None:
    """Every whole message that nothing speaks against: the client that was opened delivered it."""
    told = {True: 0, False: 0}
    for run in RUNS:
        left = [entry for entry in run.entries if entry.position[1] not in run.acked_before and is_chunk(entry)]
        if not left:
            continue
        losses, stops = asked(left, run.facts["type"])
        delivered = [set(message) for message in run.facts["delivered"]]
        for publication, whole in {e.publication: f[1] for e, f in zip(left, in_logs(left), strict=True)}.items():
            own = [entry.position for entry in left if entry.publication == publication]
            comes = whole and publication not in losses and not any(stop.is_before(own[-1]) for stop in stops)
            told[comes] += 1
            if comes:
                ids = {entry_id for _, entry_id in own}
                assert any(message <= ids for message in delivered), (run.name, publication)
    assert told[True] > 250
    assert told[False] > 500
