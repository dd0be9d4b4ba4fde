"""Which ledgers --topic, --ledger, --since and --until choose; a row for each reason, one on each side of a limit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from pulsar_backlog.arguments import scope_of
from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.options import given_options

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class Ledger:
    topic: str | None = "persistent://lab/s3/orders"
    ledger_id: int = 7
    created_time: datetime | None = None
    closed_time: datetime | None = None


@pytest.mark.parametrize(
    ("options", "ledger", "held"),
    [
        ({}, Ledger(), True),
        ({}, Ledger(topic=None), True),
        ({"topic": "persistent://lab/s3/orders"}, Ledger(), True),
        ({"topic": "lab/s3/orders"}, Ledger(), True),  # the domain may be left out
        ({"topic": "lab/*/ord?rs"}, Ledger(), True),
        ({"topic": "orders"}, Ledger(), False),  # a glob is on the full name
        ({"topic": "lab/s3/Orders"}, Ledger(), False),  # names are case-sensitive, whatever the platform
        ({"topic": ["lab/s3/none", "*orders"]}, Ledger(), True),  # any may match
        ({"topic": "*"}, Ledger(topic=None), False),  # nobody knows what it holds
        ({"topic": "*[[]br]*"}, Ledger(topic="persistent://lab/s3/[br]{ace}"), True),
        ({"ledger": "7"}, Ledger(), True),
        ({"ledger": "8"}, Ledger(), False),
        ({"ledger": 7}, Ledger(), True),  # a number, as YAML reads it
        ({"ledger": "7-9"}, Ledger(), True),
        ({"ledger": "5-7"}, Ledger(), True),
        ({"ledger": "5-6"}, Ledger(), False),
        ({"ledger": "8-9"}, Ledger(), False),
        ({"ledger": ["1", "6-8"]}, Ledger(), True),
        ({"ledger": "7", "topic": "other"}, Ledger(), False),  # all options must hold
        ({"since": "2026-11-21T12:00:00Z"}, Ledger(closed_time=NOON), True),
        ({"since": "2026-11-21T12:00:00Z"}, Ledger(closed_time=NOON - SECOND), False),
        ({"since": "2026-11-21T12:00:00Z"}, Ledger(created_time=NOON - SECOND), True),  # not known to have ended
        ({"until": "2026-11-21T12:00:00Z"}, Ledger(created_time=NOON - SECOND), True),
        ({"until": "2026-11-21T12:00:00Z"}, Ledger(created_time=NOON), False),  # half-open
        ({"until": "2026-11-21T12:00:00Z"}, Ledger(closed_time=NOON + SECOND), True),  # may have begun before
        ({"until": "2026-11-21T14:00:00+02:00"}, Ledger(created_time=NOON), False),
        ({"until": "2026-11-21T12:00:00"}, Ledger(created_time=NOON), False),  # UTC where no zone is named
        ({"since": "2026-11-21"}, Ledger(closed_time=NOON.replace(hour=0)), True),
    ],
)
def test_scope(options: dict[str, object], ledger: Ledger, held: bool) -> None:
    assert scope_of(given_options(options)).holds(ledger) is held


def test_only_an_empty_scope_is_everything() -> None:
    assert scope_of(given_options({})).is_everything
    for options in ({"topic": "*"}, {"ledger": "0"}, {"since": "2026-11-21"}, {"until": "2026-11-21"}):
        assert not scope_of(given_options(options)).is_everything


@pytest.mark.parametrize(
    ("glob", "topic", "named", "may_be"),
    [
        ("topic://t/ns/a", "persistent://t/ns/a-partition-0", True, True),  # a partition that was migrated
        ("t/ns/a", "persistent://t/ns/a-partition-0", True, True),
        ("topic://t/*", "persistent://t/ns/a-partition-0", True, True),
        ("persistent://t/*", "persistent://t/ns/a-partition-0", True, True),  # by its own name too
        ("topic://t/ns/a", "segment://t/ns/a/0000-ffff-2", True, True),
        ("topic://t/ns/a", "persistent://t/ns/a-partition-1", False, True),  # no layout names it
        ("topic://t/ns/b", "persistent://t/ns/b", False, True),
        ("topic://t/ns/b", "persistent://t/ns/b-partition-x", False, False),
        ("t/ns/a", "persistent://t/ns/a-partition-1", False, False),
        ("topic://t/ns/a", None, False, False),
    ],
)
def test_migrated_topics(glob: str, topic: str | None, named: bool, may_be: bool) -> None:
    scope = Scope((glob,), migrated={"persistent://t/ns/a-partition-0": "topic://t/ns/a"})
    assert (scope.names(topic), scope.may_name(topic)) == (named, may_be)
    assert not scope.is_everything
    assert Scope(migrated=scope.migrated).is_everything
