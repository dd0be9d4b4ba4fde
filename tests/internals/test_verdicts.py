"""Lost, leaked, ok, or nobody can tell: a row for each reason."""

from __future__ import annotations

import pytest

from pulsar_backlog.cluster.store_nodes import StoreNodes
from pulsar_backlog.internals.kinds import LedgerName
from pulsar_backlog.internals.references import Knowledge
from pulsar_backlog.internals.schemas import SchemaVersion
from pulsar_backlog.internals.verdicts import YOUNG_MS, Reading, judge, judge_schema_version

SCHEMA = LedgerName("schema", "persistent://t/n/x", schema_id="t/n/x")
CURSOR = LedgerName("cursor", "persistent://t/n/x", "sub")
COMPACTED = LedgerName("compacted", "persistent://t/n/x")
READ = Reading(3, 0, 0)
NEWEST = 10 * YOUNG_MS


def known(**nodes: object) -> Knowledge:
    """A store that keeps ledgers 1 to 9, of namespace t/n, long unchanged."""
    given = {
        "ledgers": dict.fromkeys(range(1, 10), b""), "schemas": {"t/n/y": b"."}, "namespaces": frozenset({"t/n"}),
        "changed_ms": dict.fromkeys(range(1, 10), 1), "newest_ms": NEWEST,
    }  # fmt: skip
    return Knowledge(nodes=StoreNodes(**{**given, **nodes}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reading", "verdict", "words"),
    [
        (READ, "ok", "can be read, and is needed: cursor"),
        (Reading(3, 1, 0), "cannot_tell", "1 entry of 3 cannot be read"),
        (Reading(3, 0, 1), "cannot_tell", "not whole"),
        (None, "cannot_tell", "not in this source"),
    ],
)
def test_pointed_to(reading: Reading | None, verdict: str, words: str) -> None:
    state = known()
    state.add(3, CURSOR, "cursor sub of x")
    found, reason = judge(state, 3, CURSOR, reading)
    assert found == verdict and words in reason


def test_pointed_to_and_not_kept_is_lost() -> None:
    state = known()
    state.add(11, SCHEMA, "version 0 of schema t/n/x")
    assert judge(state, 11, SCHEMA, None)[0] == "lost"
    assert judge(state, 11, SCHEMA, READ)[0] == "lost"  # a bookie has the bytes yet; no client gets them
    without = Knowledge()
    without.add(11, SCHEMA, "version 0 of schema t/n/x")
    assert judge(without, 11, SCHEMA, READ)[0] == "ok"  # what BookKeeper keeps was not saved
    assert judge(without, 11, SCHEMA, None)[0] == "cannot_tell"


def test_not_pointed_to() -> None:
    assert judge(known(), 3, SCHEMA, READ)[0] == "leaked"
    assert judge(known(), 3, CURSOR, None)[0] == "leaked"
    assert judge(known(), 11, SCHEMA, READ)[0] == "ok"  # deleted
    assert judge(Knowledge(), 3, SCHEMA, READ)[0] == "cannot_tell"  # nothing was saved


@pytest.mark.parametrize(
    ("state", "name", "words"),
    [
        (known(), None, "what it is for"),
        (known(), LedgerName("unknown", None), "which topic"),
        (known(namespaces=frozenset({"t/other"})), CURSOR, "topics of t/n"),
        (known(schemas={}), SCHEMA, "No locator"),
        (known(changed_ms={3: NEWEST - YOUNG_MS + 1}), CURSOR, "just before"),
        (known(changed_ms={}, newest_ms=None, ledgers={3: b"", 4: b""}), CURSOR, "just before"),
    ],
)
def test_doubts(state: Knowledge, name: LedgerName | None, words: str) -> None:
    verdict, reason = judge(state, 3, name, READ)
    assert verdict == "cannot_tell" and words in reason


def test_borders_of_what_is_young() -> None:
    assert judge(known(changed_ms={3: NEWEST - YOUNG_MS}), 3, CURSOR, READ)[0] == "leaked"
    state = known()
    state.changed_ms["persistent://t/n/x", "sub"] = NEWEST  # its cursor is being changed
    assert judge(state, 3, CURSOR, READ)[0] == "cannot_tell"
    assert judge(state, 3, SCHEMA, READ)[0] == "leaked"  # a schema does not hang on it
    state.undecodable.add("persistent://t/n/z")
    assert judge(state, 3, SCHEMA, READ)[0] == "cannot_tell"


def test_what_an_unread_cursor_of_compaction_may_point_to() -> None:
    state = known()
    state.cursor_ledgers["persistent://t/n/x", "__compaction"] = 8
    assert judge(state, 3, COMPACTED, READ)[0] == "cannot_tell"
    state.read_cursors.add(8)
    assert judge(state, 3, COMPACTED, READ)[0] == "leaked"


def test_versions_of_a_schema() -> None:
    state = known()
    state.locators["t/n/x"] = (SchemaVersion(0, (3, 0), b""), SchemaVersion(1, (11, 0), b""))
    assert judge_schema_version(state, "t/n/x", 0, 3, True)[0] == "ok"
    assert judge_schema_version(state, "t/n/x", 0, 3, False)[0] == "cannot_tell"
    assert judge_schema_version(state, "t/n/x", 1, 11, False)[0] == "lost"
    assert judge_schema_version(state, "t/n/x", 0, 4, True)[0] == "leaked"
    assert judge_schema_version(state, "t/n/x", 0, 12, True)[0] == "ok"  # written in vain, and deleted
    assert judge_schema_version(state, "t/n/gone", 0, 4, True)[0] == "leaked"
    assert judge_schema_version(state, "t/n/gone", 0, 12, True)[0] == "ok"
    assert judge_schema_version(Knowledge(), "t/n/x", 0, 3, True)[0] == "cannot_tell"
    assert judge_schema_version(state, "t/n/x", 2, None, False)[0] == "cannot_tell"
