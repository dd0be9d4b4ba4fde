"""Views that hold internal ledgers against the log, in both engines: a row for each verdict."""

from __future__ import annotations

import json
from datetime import timedelta

from tests.blank_rows import NOON
from tests.docs.test_views import Ask, ask, small_work  # noqa: F401 - fixtures

HOUR = timedelta(hours=1)
LIMITS = dict.fromkeys(("ranges", "batch_entries", "metadata_store_ranges", "frame_bytes"), 1) | {"long_array": True}
T = {"cluster": "c", "topic": "t"}


def version(number: int) -> bytes:
    """As clients write it."""
    return number.to_bytes(8, "big")


def test_schema_use(ask: Ask) -> None:  # noqa: F811
    entry = {**T, "topic": "t-partition-1", "publish_time": NOON, "ledger_id": 1}
    used = [{**entry, "schema_version": version(number)} for number in (0, 1, 2, 3, 4, 16, 17)]
    used.append({**entry, "topic": "other", "schema_version": version(0)})
    used.append({**entry, "topic": "new", "publish_time": NOON + 3 * HOUR, "schema_version": version(0)})
    used.append({**entry, "schema_version": b""})  # no schema
    listed = {**T, "verdict": "ok", "is_listed": True, "stored_time": NOON - HOUR}
    versions = [
        {**listed, "version": 0},
        {**listed, "version": 1, "verdict": "lost", "stored_time": None},
        {**listed, "version": 2, "is_listed": False},  # deleted; a bookie has its bytes yet
        {**listed, "version": 3, "stored_time": NOON + HOUR},
        {**listed, "version": 16, "verdict": "cannot_tell"},
        {**listed, "version": 17, "is_listed": None},  # nothing was saved of locators
    ]
    got = ask("schema_use", ["topic", "version_hex", "verdict"], entries=used, schema_versions=versions)
    assert {(topic, int(number, 16)): verdict for topic, number, verdict in got} == {
        ("t-partition-1", 0): "ok",
        ("t-partition-1", 1): "lost",
        ("t-partition-1", 2): "unlisted",
        ("t-partition-1", 3): "stored_later",
        ("t-partition-1", 4): "unlisted",  # between versions that are listed
        ("t-partition-1", 16): "cannot_tell",
        ("t-partition-1", 17): "cannot_tell",
        ("other", 0): "unlisted",  # the store was saved an hour later, and has nothing of it
        ("new", 0): "cannot_tell",  # published after what was saved
    }
    assert got[0][2] == "lost"


def test_replicated_messages_may_be_older_than_their_schema(ask: Ask) -> None:  # noqa: F811
    used = [{**T, "publish_time": NOON, "schema_version": version(0), "replicated_from": "west"}]
    versions = [{**T, "version": 0, "verdict": "ok", "is_listed": True, "stored_time": NOON + HOUR}]
    assert ask("schema_use", ["verdict"], entries=used, schema_versions=versions) == [("ok",)]


def test_pending_acknowledgements(ask: Ask) -> None:  # noqa: F811
    row = {"cluster": "c", "about_topic": "t", "subscription": "s", "operation": "ack", "outcome": "pending"}
    pending = [
        {**row, "txn": txn, "positions": [{"ledger_id": 5, "entry_id": entry, "batch_size": None}], "entry_id": entry}
        for entry, txn in enumerate(("1:9", "1:1", "1:2", "1:3", "2:1", "1:4"))
    ]
    pending.append({**row, "txn": "1:2", "outcome": "committed", "entry_id": 9})
    log = [
        {"cluster": "c", "txn": "1:1", "status": "open", "entry_id": 1},
        {"cluster": "c", "txn": "1:2", "status": "open", "entry_id": 2},
        {"cluster": "c", "txn": "1:2", "status": "committed", "entry_id": 10},
        {"cluster": "c", "txn": "1:2", "status": None, "entry_id": 11},
        {"cluster": "c", "txn": "1:4", "status": "committing", "entry_id": 12},
    ]
    place = {"mark_delete_ledger_id": 5, "mark_delete_entry_id": 0}
    state = {**T, "subscription": "s", "limits": LIMITS, "state": "whole", **place}
    got = ask(
        "pending_acknowledgements", ["subscription", "txn", "entry_id", "verdict"],
        pending_acks=pending, transaction_log=log, subscriptions=[state],
    )  # fmt: skip
    assert got == [
        ("s", "1:9", 0, "acknowledged"), ("s", "1:1", 1, "waits"), ("s", "1:2", 2, "stuck"),
        ("s", "1:3", 3, "unknown_transaction"), ("s", "2:1", 4, "cannot_tell"),
        ("s", "1:4", 5, "waits"),
    ]  # fmt: skip
    cut = [{"cluster": "c", "ledger_id": 3, "kind": "transaction_log", "rows_left_out": 1}]
    got = ask(
        "pending_acknowledgements", ["txn", "verdict"],
        pending_acks=pending, transaction_log=log, subscriptions=[state], internal_ledgers=cut,
    )  # fmt: skip
    assert dict(got)["1:3"] == "cannot_tell"  # its record may be among those that were not kept
    assert dict(got)["1:2"] == "stuck"


def test_transaction_contradictions(ask: Ask) -> None:  # noqa: F811
    def marker(number: int, kind: int, entry: int) -> dict[str, object]:
        at = {"ledger_id": 5, "entry_id": entry, "marker_type": kind}
        return {**T, **at, "txnid_most_bits": 0, "txnid_least_bits": number}

    noted = [
        marker(1, 21, 1), marker(2, 22, 2), marker(3, 21, 3), marker(4, 22, 4), marker(5, 22, 20), marker(6, 21, 6),
        marker(7, 21, 7), marker(7, 22, 8),
    ]  # fmt: skip
    log = [
        {"cluster": "c", "txn": "0:1", "status": "aborted"},
        {"cluster": "c", "txn": "0:2", "status": "committed"},
        {"cluster": "c", "txn": "0:6", "status": "committed"},
    ]
    snapshot = {
        "cluster": "c", "about_topic": "t", "record_type": "x.TransactionBufferSnapshot", "is_current": True,
        "aborted": ["0:2", "0:3"], "read_up_to_ledger_id": 5, "read_up_to_entry_id": 10,
    }  # fmt: skip
    got = ask(
        "transaction_contradictions", ["txn", "kind"],
        noted_entries=noted, transaction_log=log, transaction_snapshots=[snapshot],
    )  # fmt: skip
    assert got == [  # 0:5 ends behind the snapshot, 0:6 agrees
        ("0:1", "log_says_aborted"), ("0:2", "log_says_committed"), ("0:3", "snapshot_says_aborted"),
        ("0:4", "not_in_snapshot"), ("0:7", "two_ends"), ("0:7", "two_ends"),
    ]  # fmt: skip
    for column in ("rows_left_out", "unread_entries"):  # what is not there may list it
        part = [{"cluster": "c", "ledger_id": 3, "kind": "transaction_snapshot", column: 1}]
        got = ask(
            "transaction_contradictions", ["txn", "kind"],
            noted_entries=noted, transaction_log=log, transaction_snapshots=[snapshot], internal_ledgers=part,
        )  # fmt: skip
        assert "not_in_snapshot" not in {kind for _, kind in got}
        assert ("0:3", "snapshot_says_aborted") in got


def test_compaction_horizons(ask: Ask) -> None:  # noqa: F811
    def compacted(topic: str, ledger: int, reach: int, current: bool) -> dict[str, object]:
        place = {"horizon_ledger_id": reach, "horizon_entry_id": 3}
        return {"cluster": "c", "topic": topic, "ledger_id": ledger, "is_current": current, **place}

    rows = [
        compacted("fine", 1, 10, False), compacted("fine", 2, 20, True),
        compacted("back", 3, 20, False), compacted("back", 4, 10, True),
        compacted("gone", 5, 20, False), compacted("gone", 6, 10, True),
        compacted("crashed", 7, 20, False), compacted("crashed", 8, 10, True),
    ]  # fmt: skip
    states = [
        {"cluster": "c", "topic": topic, "subscription": "__compaction", "properties": {"CompactedTopicLedger": ledger}}
        for topic, ledger in (("back", 3), ("gone", 5), ("crashed", 8))
    ]
    log = [
        {"cluster": "c", "topic": topic, "ledger_id": ledger, "selected": True}
        for topic, ledger in (("back", 10), ("gone", 11), ("crashed", 30))
    ]
    columns = ["topic", "ledger_id", "verdict"]
    got = ask("compaction_horizons", columns, compacted_ledgers=rows, cursor_states=states, ledgers=log)
    assert [row for row in got if row[2] != "cannot_tell"] == [
        ("back", 4, "moved_back"), ("crashed", 8, "farther_unused"), ("fine", 2, "ok"),
        ("gone", 6, "moved_back_past_log"),
    ]  # fmt: skip
    assert len(got) == len(rows)


def test_messages_stored_twice(ask: Ask) -> None:  # noqa: F811
    def twice(producer: str, sequence_id: int, places: tuple[int, int], **more: object) -> list[dict[str, object]]:
        same = {**T, "producer_name": producer, "sequence_id": sequence_id, "checksum": 7, "checksum_state": "valid"}
        return [{**same, "publish_time": NOON, "ledger_id": 5, "entry_id": entry, **more} for entry in places]

    rows = [
        *twice("p", 3, (1, 12)),
        *twice("p", 9, (11, 13)),  # the snapshot did not know it
        *twice("p", 4, (2, 4)),  # before the snapshot: deduplication may have been off then
        *twice("p", 2, (5, 14), chunk_id=0, uuid="p-2"),
        *twice("q", 1, (6, 15)),
        *twice("q", 2, (7, 7))[:1],
    ]
    other = {**twice("p", 3, (16, 16))[0], "checksum": 8}  # another message that reuses the sequence id
    snapshot = {**T, "producer": "p", "sequence_id": 5, "position_ledger_id": 5, "position_entry_id": 10}
    columns = ["producer_name", "sequence_id", "copies", "last_entry_id", "verdict"]
    got = ask("messages_stored_twice", columns, entries=[*rows, other], deduplication_snapshots=[snapshot])
    assert got == [
        ("p", 3, 2, 12, "passed_deduplication"), ("p", 4, 2, 4, "cannot_tell"), ("p", 2, 2, 14, "cannot_tell"),
        ("q", 1, 2, 15, "not_deduplicated"), ("p", 9, 2, 13, "cannot_tell"),
    ]  # fmt: skip


def test_delayed_messages(ask: Ask) -> None:  # noqa: F811
    entries = [
        {**T, "ledger_id": ledger, "entry_id": entry, "deliver_at_time": NOON + hours * HOUR}
        for ledger, entry, hours in ((5, 0, -2), (5, 1, -1), (5, 2, 1), (7, 0, 2), (9, 0, 3), (11, 0, 4))
    ]
    entries.append({**T, "ledger_id": 5, "entry_id": 3})  # not delayed
    unacked = [
        {**T, "subscription": "s", "ledger_id": ledger, "first_entry_id": first, "last_entry_id": 9}
        for ledger, first in ((5, 1), (7, 0), (9, 0), (11, 0))
    ]
    unacked.append({**T, "subscription": "x", "ledger_id": 9, "first_entry_id": 0, "last_entry_id": 0})
    subscriptions = [
        {**T, "subscription": "s", "kind": "subscription", "limits": LIMITS, "subscription_type": "Shared"},
        {**T, "subscription": "x", "kind": "subscription", "limits": LIMITS, "subscription_type": "Exclusive"},
    ]
    bucket = {**T, "subscription": "s", "is_named": True, "verdict": "ok"}
    buckets = [
        {**bucket, "ledger_id": 100, "first_ledger_id": 5, "last_ledger_id": 6},
        {**bucket, "ledger_id": 101, "first_ledger_id": 7, "last_ledger_id": 7, "verdict": "lost"},
        {**bucket, "ledger_id": 102, "first_ledger_id": 8, "last_ledger_id": 9, "verdict": "cannot_tell"},
        {**bucket, "ledger_id": 103, "is_named": False, "verdict": "leaked"},
    ]
    at = {**T, "subscription": "s", "message_ledger_id": 5}
    indexed = [
        {**at, "ledger_id": 100, "message_entry_id": 1},
        {**at, "ledger_id": 103, "message_entry_id": 2},  # an orphan is no index
    ]
    got = ask(
        "delayed_messages", ["subscription", "ledger_id", "entry_id", "state", "index_state"],
        entries=entries, ack_ranges=unacked, subscriptions=subscriptions, delayed_buckets=buckets,
        delayed_indexes=indexed, saved_states=[{**T, "saved_time": NOON}],
    )  # fmt: skip
    assert got == [
        ("s", 5, 1, "due", "indexed"), ("s", 5, 2, "waits", "not_in_bucket"), ("s", 7, 0, "waits", "index_lost"),
        ("s", 9, 0, "waits", "cannot_tell"), ("s", 11, 0, "waits", "no_bucket"), ("x", 9, 0, "waits", "not_delayed"),
    ]  # fmt: skip


def test_delayed_backlogs(ask: Ask) -> None:  # noqa: F811
    delayed = dict.fromkeys(("code", "sureness", "evidence", "remedy", "advice")) | {"kind": "delayed"}
    entries = [
        {**T, "ledger_id": 5, "entry_id": entry, "deliver_at_time": NOON + hours * HOUR}
        for entry, hours in ((0, 1), (1, 3), (2, -1))
    ]
    entries.append({**T, "ledger_id": 5, "entry_id": 3})  # not delayed

    def of(
        name: str, first: int, last: int, backlog: int, **more: object
    ) -> tuple[dict[str, object], dict[str, object]]:
        unacked = {**T, "subscription": name, "ledger_id": 5, "first_entry_id": first, "last_entry_id": last}
        state = {
            **T, "subscription": name, "kind": "subscription", "limits": LIMITS, "state": "whole",
            "subscription_type": "Shared", "backlog_entries": backlog, "holdups": [delayed], **more,
        }  # fmt: skip
        return unacked, state

    cases = [
        of("all", 0, 1, 2), of("nobody asked", 0, 1, 2, holdups=None),
        of("keys", 0, 1, 2, subscription_type="Key_Shared"), of("due", 0, 2, 3),
        of("also others", 0, 1, 4), of("none", 3, 3, 1), of("in order", 0, 1, 2, subscription_type="Exclusive"),
        of("nobody there", 0, 1, 2, subscription_type=None), of("older", 0, 1, 2, state="older"),
    ]  # fmt: skip
    unsaved = [one | {"topic": "u"} for one in of("nobody saved it", 0, 1, 2)]
    cases.append((unsaved[0], unsaved[1]))
    columns = ["subscription", "verdict", "reason", "broker_says"]
    got = {
        row[0]: row[1:]
        for row in ask(
            "delayed_backlogs", columns, entries=[*entries, *({**one, "topic": "u"} for one in entries)],
            ack_ranges=[one for one, _ in cases], subscriptions=[one for _, one in cases],
            saved_states=[{**T, "saved_time": NOON}],
        )
    }  # fmt: skip
    assert {name: verdict for name, (verdict, _, _) in got.items()} == {
        "all": "delayed_until", "nobody asked": "delayed_until", "keys": "delayed_until", "due": "due",
        "also others": "partly", "in order": "not_delayed", "nobody there": "cannot_tell", "older": "cannot_tell",
        "nobody saved it": "cannot_tell",
    }  # fmt: skip
    assert got["all"][1:] == ("delayed until 2026-11-21 13:00:00 UTC, the last until 2026-11-21 15:00:00 UTC", True)
    assert not got["nobody asked"][2]
    assert got["in order"][1] == "an Exclusive subscription delays nothing"


def test_ledger_holders(ask: Ask) -> None:  # noqa: F811
    def ledger(topic: str, number: int, **more: object) -> dict[str, object]:
        closed = {"expected_entries": 10, "closed_time": NOON - 5 * HOUR, "selected": True, "data_bytes": 100}
        return {"cluster": "c", "topic": topic, "ledger_id": number, "kind": "jcloud", **closed, **more}

    def cursor(topic: str, name: str, ledger_id: int | None, entry: int, **more: object) -> dict[str, object]:
        at = {"mark_delete_ledger_id": ledger_id, "mark_delete_entry_id": entry, "state": "whole", "limits": LIMITS}
        return {"cluster": "c", "topic": topic, "subscription": name, "kind": "subscription", **at, **more}

    still_open = {"expected_entries": None, "closed_time": None}
    ledgers = [
        ledger("t", 1), ledger("t", 2), ledger("t", 3), ledger("t", 4, **still_open),
        ledger("policy", 5), ledger("policy", 6, closed_time=NOON - HOUR), ledger("policy", 7, **still_open),
        ledger("doubt", 8), ledger("doubt", 9, **still_open),
        ledger("without", 10), ledger("without", 11, **still_open),
        ledger("ever", 12), ledger("ever", 13, **still_open),
        ledger("offloaded", 14),
        ledger("sized", 15), ledger("sized", 16, **still_open),
        ledger("shadowed", 17), ledger("shadowed", 18, **still_open),
        ledger("policy-partition-3", 30), ledger("policy-partition-3", 31, **still_open),
        ledger("namespace", 32), ledger("namespace", 33, **still_open),
        ledger("expiring", 34), ledger("expiring", 35, closed_time=NOON - 2 * HOUR),
        ledger("expiring", 36, **still_open),
    ]  # fmt: skip
    subscriptions = [
        cursor("shadowed", "pulsar.repl-x", 17, 4, kind="replicator"),
        cursor("shadowed", "reader-1", 17, 0, kind="reader"),  # brokers trim what only a reader has not read
        cursor("sized", "s", 16, 9),
        cursor("t", "slow", 2, 4), cursor("t", "fast", 3, 9), cursor("t", "pulsar.repl.b", 3, 8, kind="replicator"),
        cursor("policy", "s", 7, 9), cursor("offloaded", "s", 14, 9),
        cursor("ever", "s", 13, 9),
        cursor("doubt", "s", 9, 9), cursor("doubt", "x", None, 0, state="unknown"),
        cursor("policy-partition-3", "s", 31, 9), cursor("namespace", "s", 33, 9), cursor("expiring", "s", 34, 4),
    ]  # fmt: skip
    policies = [
        {
            "cluster": "c", "about_topic": topic, "is_current": True,
            "policies": json.dumps(
                {"retentionPolicies": {"retentionTimeInMinutes": minutes, "retentionSizeInMB": size}}
            ),
        }
        for topic, minutes, size in (("policy", 120, -1), ("ever", -1, -1), ("sized", -1, 10))
    ]  # fmt: skip
    internal = [
        {**T, "ledger_id": 20, "kind": "cursor", "holders": ["cursor s of t"], "verdict": "ok"},
        {**T, "ledger_id": 21, "kind": "schema", "verdict": "leaked"},
        {**T, "ledger_id": 22, "kind": "unknown", "verdict": "cannot_tell"},
    ]
    names = ("t", "policy", "ever", "policy-partition-3", "namespace", "expiring")
    told = {"namespace": {"retention": {"minutes": 60, "megabytes": -1}}, "expiring": {"ttl_seconds": 5400}}
    saved = [
        {"cluster": "c", "topic": name, "saved_time": NOON, "state": json.dumps(told.get(name, {}))} for name in names
    ]
    rows = ask(
        "ledger_holders", ["ledger_id", "holder_kind", "holder", "holders", "evidence", "overdue_hours"],
        ledgers=ledgers, subscriptions=subscriptions, topic_policies=policies, internal_ledgers=internal,
        saved_states=saved,
    )  # fmt: skip
    got, evidence = [row[:4] for row in rows], {row[0]: row[4] for row in rows}
    assert {row[0]: row[5] for row in rows if row[5] is not None} == {5: 3, 30: 3, 32: 4, 34: 3}
    assert evidence[32].startswith("no cursor needs it; the retention in force keeps it for 60 minutes")
    assert evidence[34] == "acknowledged up to 34:4; by the TTL of 5400 seconds what is left should have expired"
    assert evidence[35] == "acknowledged up to 34:4"
    assert evidence[5] == (
        "no cursor needs it; a policy of the topic keeps it for 120 minutes after it was closed, which was over "
        "5 hours before the state was saved"
    )
    assert evidence[12] == "a policy of the topic keeps it for ever"
    assert evidence[15] == "a policy of the topic keeps it while the topic has no more than 10 MiB"
    assert sorted(got, key=str) == sorted(
        [
            (1, "retention_or_nobody", None, 1),
            (2, "cursor", "slow", 1),
            (3, "cursor", "slow", 2), (3, "replicator", "pulsar.repl.b", 2),
            (4, "cursor", "fast", 4), (4, "cursor", "slow", 4), (4, "open_ledger", None, 4),
            (4, "replicator", "pulsar.repl.b", 4),
            (5, "overdue", None, 1), (6, "retention", None, 1), (7, "cursor", "s", 2), (7, "open_ledger", None, 2),
            (8, "not_known", None, 1), (9, "cursor", "s", 2), (9, "open_ledger", None, 2),
            (10, "not_known", None, 1), (11, "open_ledger", None, 1),
            (12, "retention", None, 1), (13, "cursor", "s", 2), (13, "open_ledger", None, 2),
            (14, "retention_or_nobody", None, 1),
            (15, "retention", None, 1), (16, "cursor", "s", 2), (16, "open_ledger", None, 2),
            (17, "shadow_topic", "pulsar.repl-x", 1), (18, "open_ledger", None, 2),
            (18, "shadow_topic", "pulsar.repl-x", 2),
            (30, "overdue", None, 1), (31, "cursor", "s", 2), (31, "open_ledger", None, 2),
            (32, "overdue", None, 1), (33, "cursor", "s", 2), (33, "open_ledger", None, 2),
            (34, "cursor", "s", 1), (35, "cursor", "s", 1), (36, "cursor", "s", 2), (36, "open_ledger", None, 2),
            (20, "cursor", "cursor s of t", 1), (21, "nobody", None, 1), (22, "not_known", None, 1),
        ],
        key=str,
    )  # fmt: skip


def test_replication(ask: Ask) -> None:  # noqa: F811
    row = {**T, "kind": "replicator", "state": "whole", "limits": LIMITS, "hole_entries": 0}
    rows = [
        {**row, "subscription": "pulsar.repl.a", "backlog_entries": 0},
        {**row, "subscription": "pulsar.repl.b", "backlog_entries": 5},
        {**row, "subscription": "pulsar.repl.c", "backlog_entries": 4, "hole_entries": 2},
        {**row, "subscription": "pulsar.repl.d", "state": "unknown"},
        {**row, "subscription": "s", "kind": "subscription", "backlog_entries": 9},
        {**row, "subscription": "pulsar.repl-persistent%3A%2F%2Ft%2Fn%2Fshadow", "backlog_entries": 9},
    ]
    assert ask("replication", ["replicator", "verdict"], subscriptions=rows) == [
        ("pulsar.repl.b", "behind"), ("pulsar.repl.c", "passed_over"), ("pulsar.repl.a", "caught_up"),
        ("pulsar.repl.d", "cannot_tell"),
    ]  # fmt: skip


def test_replicated_subscriptions(ask: Ask) -> None:  # noqa: F811
    second = timedelta(seconds=1)

    def markers(topic: str, kinds: str, step: timedelta = 60 * second) -> list[dict[str, object]]:
        """`q` and `Q`: a request of this cluster and of another; `A` an answer; `s` a snapshot; `u` an update."""
        numbers = {"q": 10, "Q": 10, "A": 11, "s": 12, "u": 13}
        return [
            {
                **T, "topic": topic, "ledger_id": 5, "entry_id": at, "marker_type": numbers[kind],
                "publish_time": NOON + at * step, "replicated_from": "west" if kind.isupper() else None,
            }
            for at, kind in enumerate(kinds)
        ]  # fmt: skip

    rows = [
        *markers("fine", "qAsqAsqu"),
        *markers("silent", "qqq"),
        *markers("since", "qAsqqq"),
        *markers("at once", "qAsqqq", second),
        *markers("few", "qq"),
        *markers("asked", "QQQQ"),
        {**T, "topic": "txn", "ledger_id": 5, "entry_id": 1, "marker_type": 21},
        {**T, "topic": "plain", "ledger_id": 5, "entry_id": 1},
        *({**one, "ledger_id": 66} for one in markers("gone", "qqq")),
    ]
    gone = [{"cluster": "c", "ledger_id": 66}]
    columns = ["topic", "verdict", "own_requests", "requests_since", "last_snapshot_entry_id"]
    got = ask("replicated_subscriptions", columns, entries=rows, gone_ledgers=gone)
    assert sorted(got, key=str) == [
        ("asked", "of_others", 0, 0, None), ("at once", "ok", 4, 3, 2), ("few", "cannot_tell", 2, 2, None),
        ("fine", "ok", 3, 1, 5), ("silent", "unanswered", 3, 3, None), ("since", "unanswered", 4, 3, 2),
    ]  # fmt: skip


def test_confirmed_cut_off(ask: Ask) -> None:  # noqa: F811
    def cut(entry: int, **more: object) -> dict[str, object]:
        row = {
            **T, "ledger_id": 5, "entry_id": entry, "end_entries": 4, "grade": "certain", "reason": "r", "bookies": 2,
            "producer_name": "p", "sequence_id": entry, "checksum": 100 + entry, "payload_length": 7, "uri": "u",
            "offset": 0, "length": 9, "hindrance": "",
        }  # fmt: skip
        return {**row, **more}

    def stored(entry: int, **more: object) -> dict[str, object]:
        return {**T, "ledger_id": 6, "entry_id": entry, "payload_length": 7, "sequence_id": 0, **more}

    def copied(of: int, producer: str = "p") -> dict[str, str]:
        return {"pulsar-backlog.original-id": f"5:{of}", "pulsar-backlog.original-producer": producer}

    entries = [
        stored(0, producer_name="p", sequence_id=4, checksum=104),
        stored(1, producer_name="p", sequence_id=5, checksum=1),  # another message with its number
        stored(2, producer_name="plan", checksum=2, properties=copied(6)),
        stored(3, producer_name="plan", checksum=3, properties=copied(7), payload_length=8),  # not its payload
        stored(4, producer_name="plan", checksum=4, properties=copied(8, "q")),  # of another producer
        stored(5, producer_name="p", sequence_id=9, checksum=5, properties=copied(9)),  # under its own name
        stored(6, producer_name="p", sequence_id=6, checksum=106),
        {**T, "ledger_id": 66, "entry_id": 0, "producer_name": "p", "sequence_id": 10, "checksum": 110},  # gone
    ]
    gone = [{"cluster": "c", "ledger_id": 66}]
    rows = [cut(entry) for entry in range(4, 11)] + [cut(11, grade="cannot_tell"), cut(12, producer_name=None)]
    columns = ["entry_id", "verdict", "stored_again_ledger_id", "stored_again_entry_id"]
    got = ask("confirmed_cut_off", columns, cut_off_entries=rows, entries=entries, gone_ledgers=gone)
    assert got == [
        (4, "stored_again", 6, 0), (5, "missing", None, None), (6, "stored_again", 6, 2), (7, "missing", None, None),
        (8, "missing", None, None), (9, "republished", 6, 5), (10, "missing", None, None),
    ]  # fmt: skip
