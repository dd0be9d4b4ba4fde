"""Remedies: played, compared, and told in the first line."""

from __future__ import annotations

import pytest

from pulsar_backlog.chunks.dispatch.forecast import consumers_of, forecast
from pulsar_backlog.chunks.dispatch.remedies import best_remedy, needs_remedy, tried_remedies
from pulsar_backlog.report.terminal.forecast import verdict_line
from tests.chunks.dispatch.test_forecast import stored

WHOLE = (
    "A0/3 A1/3 A2/3 B0/5 D0/2 C0/2 C1/2 B1/5 B2/5 F0/4 D1/2 F1/4 G0/3 F2/4 F3/4 G1/3 B3/5 H0/3 B4/5 H1/3 H2/3 E0/2 "
    "E1/2 G2/3"
)
GAPS = "A0/3 A2/3 B0/3 B2/3 C0/3 C2/3 D0/3 D2/3 E0/2 E1/2"
NOTHING_HELPS = "What no play delivers can only be exported and acknowledged."


def verdict(tokens: str, consumers: str, *events: str, dispatch: str = "Shared", queue: int = 1000) -> str:
    entries, clients = stored(tokens), consumers_of(consumers, queue)
    stages = forecast(entries, clients, events, broker="4.0", dispatch=dispatch)  # type: ignore[arg-type]
    wanted = not events and needs_remedy(stages[-1])
    tried = list(tried_remedies(entries, clients, "4.0", dispatch)) if wanted else []  # type: ignore[arg-type]
    return verdict_line(stages, best_remedy(stages[-1], tried), tried)


@pytest.mark.parametrize(
    ("tokens", "consumers", "events", "options", "line"),
    [
        pytest.param("A0/2 A1/2 .", "java 4.2 x 2", (), {}, "It drains.", id="whole messages"),
        pytest.param(WHOLE, "java 4.0 x 2", (), {"queue": 2},
                     "It may not drain: up to 18 entries stay; timing decides. Best remedy: set the receiver queues to "
                     "10 or more; then 0 entries stay.", id="the stall of small queues on a broker 4.0"),
        pytest.param(GAPS, "java 4.2", (), {"queue": 4},
                     "It does not drain: 7 entries stay. Best remedy: set the receiver queues to 1,000, the default; "
                     "then 4 entries stay.", id="leaked permits"),
        pytest.param("A1/2 B0/2 B1/2", "java 4.2 x 2", (), {},
                     "It does not drain: 1 entry stays. None of these frees more for certain: unload, restart. "
                     f"{NOTHING_HELPS}", id="a chunk without its first"),
        pytest.param("A0/3 A1/3", "java 4.2", (), {"dispatch": "Exclusive"},
                     "It drains, but 1 message is lost. None of these frees more for certain: unload, restart. "
                     f"{NOTHING_HELPS}", id="an open message that expires"),
        pytest.param("A0/2 A1/2 B0/2", "java 4.2", ("rolling restart",), {},
                     "After rolling restart: it does not drain: 1 entry stays. Rolling restart frees nothing.",
                     id="an event that frees nothing is told so"),
    ],
)  # fmt: skip
def test_the_first_line_is_the_verdict(
    tokens: str, consumers: str, events: tuple[str, ...], options: dict[str, object], line: str
) -> None:
    assert verdict(tokens, consumers, *events, **options) == line  # type: ignore[arg-type]


def test_a_remedy_that_loses_more_is_none() -> None:
    # of a Key_Shared subscription with two consumers, leaving is tried for each; a rolling restart never is
    entries, clients = stored("A0/2 B1/2"), consumers_of("java 4.2, go", 1000)
    tried = list(tried_remedies(entries, clients, "4.2", "Key_Shared"))
    assert [remedy.name for remedy in tried] == ["unload", "restart", "leave c1", "leave c2"]
    base = forecast(entries, clients, (), broker="4.2", dispatch="Key_Shared")[0]
    assert best_remedy(base, tried) is None


REJECTED = "A0/3 A1/3 A2/3 ."


@pytest.mark.parametrize(
    ("consumers", "stays", "dead_letters", "remedy"),
    [
        # As it was recorded: of a message that Java 4.2 rejects all but the last chunk stay, and of two consumers each
        # may send a copy; Java 4.0 and Python never get the message again; Go and ack timeouts of Java settle all.
        ("java 4.2 rejects 2", (2, 2), (2, 2), "ack timeout"),
        ("java 4.2 rejects 2 x 2", (0, 2), (2, 3), "ack timeout"),
        ("java 4.0 rejects 2", (3, 3), (1, 1), "ack timeout"),
        ("python rejects 2", (3, 3), (1, 1), None),
        ("go rejects 2", (0, 0), (2, 2), None),
        ("java 4.2 times out 2", (0, 0), (2, 2), None),
        ("python times out 2", (3, 3), (1, 1), None),
    ],
)
def test_dead_letters(
    consumers: str, stays: tuple[int, int], dead_letters: tuple[int, int], remedy: str | None
) -> None:
    entries, clients = stored(REJECTED), consumers_of(consumers, 1000)
    (stage,) = forecast(entries, clients, (), broker="4.2", dispatch="Shared")
    assert (stage.certain.backlog, stage.dead_letters, stage.eaten) == (stays, dead_letters, ())
    best = best_remedy(stage, list(tried_remedies(entries, clients, "4.2", "Shared")))
    assert (best and best.name) == remedy


def test_an_ack_timeout_in_words() -> None:
    line = verdict(REJECTED, "java 4.2 rejects 2")
    assert line == (
        "It does not drain: 2 entries stay. Best remedy: let an ack timeout ask again instead of negative "
        "acknowledgements; then 0 entries stay."
    )


@pytest.mark.parametrize(
    ("consumers", "dispatch", "message"),
    [
        ("go times out 2", "Shared", "go has no ack timeout"),
        ("java 4.2 rejects 2", "Exclusive", "an Exclusive subscription has no dead letters"),
        ("java 4.2 rejects", "Shared", "'java 4.2 rejects' is no client with a version"),
        ("java 4.2 rejects two", "Shared", "'java 4.2 rejects two' is no client with a version"),
    ],
)
def test_dead_letters_that_there_are_not(consumers: str, dispatch: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        verdict(REJECTED, consumers, dispatch=dispatch)
