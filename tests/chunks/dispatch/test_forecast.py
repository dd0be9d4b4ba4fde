"""What-if questions: consumers and events in words, and what comes of saved entries."""

from __future__ import annotations

import pytest

from pulsar_backlog.chunks.dispatch.forecast import MAX_ENTRIES, Stage, StoredEntry, consumers_of, forecast


def stored(tokens: str) -> list[StoredEntry]:
    """`A0/2` is chunk 0 of 2, `.` a message that is no chunk."""
    return [
        StoredEntry("", None, None, None) if token == "." else StoredEntry(token[0], int(token[1]), int(token[3]), "k1")
        for token in tokens.split()
    ]


def stages(
    tokens: str, consumers: str, *events: str, dispatch: str = "Shared", queue: int = 1000, broker: str = "4.2"
) -> list[Stage]:
    return forecast(
        stored(tokens),
        consumers_of(consumers, queue),
        events,
        broker=broker,  # type: ignore[arg-type]
        dispatch=dispatch,  # type: ignore[arg-type]
    )


def test_consumers_in_words() -> None:
    found = consumers_of("java 4.2 x 2, python", 10)
    assert [(name, settings.client.family, settings.queue) for name, settings in found.items()] == [
        ("c1", "java", 10), ("c2", "java", 10), ("c3", "cpp", 10),
    ]  # fmt: skip
    with pytest.raises(ValueError, match="no consumer is named"):
        consumers_of(" , ", 10)


def test_clients_of_other_libraries() -> None:
    found = consumers_of("websocket 4.2, websocket 4.0, node 1.15", 10)
    assert [settings.client.family for settings in found.values()] == ["java", "java", "cpp"]
    assert [settings.client.nack_all for settings in found.values()] == [True, False, False]


def test_whole_messages_are_delivered_and_nothing_stays() -> None:
    (stage,) = stages("A0/2 . B0/2 A1/2 B1/2", "java 4.2, go")
    assert (stage.delivered, stage.certain.backlog, stage.undelivered, stage.eaten) == ((3, 3), (0, 0), (), ())


def test_a_chunk_without_its_first_stays_and_blocks_what_is_read_later_only() -> None:
    (stage,) = stages("A1/2 B0/2 B1/2", "java 4.2 x 2")
    assert (stage.delivered, stage.certain.backlog, stage.undelivered) == ((1, 1), (1, 1), ("A",))


@pytest.mark.parametrize(("broker", "delivered"), [("4.0", 99), ("4.2", 99), ("5.0", 200)])
def test_what_a_headless_chunk_blocks_depends_on_the_read_batch(broker: str, delivered: int) -> None:
    (stage,) = stages("A1/2 " + ". " * 200, "java 4.2", broker=broker)
    assert stage.delivered == (delivered, delivered)


@pytest.mark.parametrize("dispatch", ["Shared", "Key_Shared", "Exclusive"])
def test_all_of_a_healthy_log_is_delivered_however_large_batches_are(dispatch: str) -> None:
    (stage,) = stages(". " * 700, "java 4.2", dispatch=dispatch, broker="5.0")
    assert (stage.delivered, stage.certain.backlog) == ((700, 700), (0, 0))


def test_an_exclusive_java_client_acknowledges_an_old_open_message_without_delivering_it() -> None:
    (stage,) = stages("A0/3 A1/3", "java 4.2", dispatch="Exclusive")
    assert (stage.delivered, stage.certain.backlog, stage.eaten) == ((0, 0), (0, 0), ("A",))


def test_events_are_told_one_after_the_other() -> None:
    told = stages("A0/2 A1/2 B0/2", "java 4.2, go", "unload", "leave c1", "join python", "restart", "rolling restart")
    assert [stage.event for stage in told] == ["", "unload", "leave c1", "join python", "restart", "rolling restart"]
    assert all(stage.delivered == (1, 1) for stage in told)


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ("dance", "no event 'dance': there are unload"),
        ("kill c9", "'kill c9': c9 is not connected; there are c1"),
        ("join cobol", "no model of the client 'cobol'"),
    ],
)
def test_an_event_that_is_not_known_is_named(event: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stages("A0/2", "java 4.2", event)


def test_more_entries_than_are_played_are_refused() -> None:
    many = [StoredEntry("", None, None, None)] * (MAX_ENTRIES + 1)
    with pytest.raises(ValueError, match="2,001 unacknowledged entries; a forecast plays at most 2,000"):
        forecast(many, consumers_of("go", 1000), (), broker="4.2", dispatch="Shared")
