"""Ledgers that the broker knows and the source does not hold: each reason to tell of one, and each not to."""

from __future__ import annotations

import pytest

from pulsar_backlog.cluster.absent import absent_ledgers, findings_of_absent
from pulsar_backlog.cluster.values import ClusterState, LedgerRecord, TopicState

TOPIC = "persistent://lab/s3/orders"


def ledger(ledger_id: int, *, entries: int | None = 5, complete: bool | None = True) -> LedgerRecord:
    return LedgerRecord(ledger_id, TOPIC, complete=complete, entries=entries)


def topic(*ledgers: LedgerRecord, last: tuple[int, int] | None = None, name: str = TOPIC) -> TopicState:
    return TopicState(name, ledgers, last_confirmed=last)


def state(*topics: TopicState, disputed: frozenset[int] = frozenset()) -> ClusterState:
    return ClusterState({known.topic: known for known in topics}, disputed, ())


@pytest.mark.parametrize(
    ("known", "absent"),
    [
        (topic(ledger(1), ledger(2)), [2]),
        (topic(ledger(1)), []),  # stored
        (topic(ledger(1), ledger(2, entries=0)), []),  # holds nothing
        (topic(ledger(1), ledger(2, entries=None)), [2]),  # open, and nobody says that it is empty
        (topic(ledger(1), ledger(2, entries=None), last=(1, 4)), []),  # the last entry is before it
        (topic(ledger(1), ledger(2, entries=None), last=(2, -1)), []),  # open and empty
        (topic(ledger(1), ledger(2, entries=None), last=(2, 0)), [2]),  # open, one entry
    ],
)
def test_which_ledgers_are_absent(known: TopicState, absent: list[int]) -> None:
    assert [record.ledger_id for record in absent_ledgers(known, {1})] == absent


def test_what_was_offloaded_is_a_warning_and_what_was_not_a_note() -> None:
    known = topic(ledger(1), ledger(2), ledger(3, complete=False), ledger(4, complete=None))
    found = list(findings_of_absent(state(known), {1}))
    assert [(f.code, f.subject, f.count, f.evidence) for f in found] == [
        ("S15", TOPIC, 1, ("ledger 2",)),
        ("S16", TOPIC, 2, ("ledger 3", "ledger 4")),
    ]


def test_a_disputed_ledger_is_not_told_of() -> None:
    assert list(findings_of_absent(state(topic(ledger(1), ledger(2)), disputed=frozenset({2})), {1})) == []


def test_topics_of_which_nothing_is_stored_are_one_finding() -> None:
    others = [topic(ledger(number), name=f"{TOPIC}-{number}") for number in (9, 8)]
    (found,) = findings_of_absent(state(topic(ledger(1)), *others), {1})
    assert (found.code, found.subject, found.count) == ("S16", "topics elsewhere", 2)
    assert found.evidence == (f"{TOPIC}-8", f"{TOPIC}-9")
