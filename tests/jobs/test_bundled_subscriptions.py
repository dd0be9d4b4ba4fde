"""Subscriptions of the bundled backlog: what the tables say is what really happened to each client."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from pulsar_backlog.subscriptions.stall_values import ChunkSet, Copy, SubscriptionView
from pulsar_backlog.subscriptions.stalls import judge
from tests.auditing import DATA, Audited

NEEDS_SPARK = True

CLIENTS: dict[str, Any] = json.loads(gzip.decompress((DATA / "cursors" / "clients.json.gz").read_bytes()))
LAST_RUNS = {
    (topic, run["subscription"]): run for topic, said in CLIENTS.items() for run in said["runs"] if run["final"]
}
"""A subscription's last run left the state that was saved."""


def ledger_of(run: dict[str, Any]) -> int:
    return int(run["final"]["markDelete"].split(":")[0])


@pytest.fixture(scope="module")
def holes(bundled: Audited) -> dict[tuple[str, str], set[tuple[int, int]]]:
    """Unacknowledged positions by topic and subscription, from `ack_ranges`."""
    found: dict[tuple[str, str], set[tuple[int, int]]] = {}
    for row in bundled.rows("ack_ranges"):
        key = (row["topic"], row["subscription"])
        run = range(row["first_entry_id"], row["last_entry_id"] + 1)
        found.setdefault(key, set()).update((row["ledger_id"], entry) for entry in run)
    return found


@pytest.fixture(scope="module")
def stalls(bundled: Audited) -> dict[tuple[str, str], list[dict[str, Any]]]:
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in bundled.rows("stalls"):
        found.setdefault((row["topic"], row["subscription"]), []).append(row)
    return found


def test_every_subscription_that_ran_is_there(bundled: Audited) -> None:
    known = {(row["topic"], row["subscription"]) for row in bundled.rows("subscriptions")}
    assert set(LAST_RUNS) <= known
    assert len(LAST_RUNS) > 300


def test_the_oldest_has_the_times_that_its_producer_and_the_broker_wrote(bundled: Audited) -> None:
    stored = {(row["ledger_id"], row["entry_id"]): row for row in bundled.rows("entries")}
    oldest = [row for row in bundled.rows("subscriptions") if row["oldest_unacked_ledger_id"] is not None]
    assert len(oldest) > 100
    for row in oldest:
        entry = stored[row["oldest_unacked_ledger_id"], row["oldest_unacked_entry_id"]]
        assert entry["broker_timestamp"] is not None, "the brokers wrote entry metadata"
        assert row["oldest_unacked_broker_time"] == entry["broker_timestamp"]
        assert row["oldest_unacked_time"] == entry["publish_time"]
    assert any(row["oldest_unacked_broker_time"] != row["oldest_unacked_time"] for row in oldest)


def test_holes_are_exactly_what_each_client_left(holes: dict[tuple[str, str], set[tuple[int, int]]]) -> None:
    different = {}
    for key, run in LAST_RUNS.items():
        left = {entry for _, entry in holes.get(key, set())}
        if left != set(run["final"]["holes"]):
            different[key] = (sorted(left), run["final"]["holes"])
    assert different == {}


def test_counts_agree_with_the_holes(bundled: Audited) -> None:
    for row in bundled.rows("subscriptions"):
        run = LAST_RUNS.get((row["topic"], row["subscription"]))
        if run is not None:
            assert row["backlog_entries"] == len(run["final"]["holes"]), row["subscription"]
            assert row["source"] == "stats_internal"


def test_a_drained_subscription_has_no_stall(stalls: dict[tuple[str, str], list[dict[str, Any]]]) -> None:
    drained = {key for key, run in LAST_RUNS.items() if not run["final"]["holes"]}
    assert len(drained) > 50
    assert drained & set(stalls) == set()


def test_every_chunk_that_a_client_left_behind_is_in_a_stall(
    stalls: dict[tuple[str, str], list[dict[str, Any]]],
) -> None:
    """All holes that are chunks, but of messages that a client simply had not got to."""
    unexplained = {}
    for (topic, name), run in LAST_RUNS.items():
        log = CLIENTS[topic]["log"]
        chunks = {entry for entry in run["final"]["holes"] if log[entry][2] is not None}
        named = {p["entry_id"] for row in stalls.get((topic, name), []) for p in row["unacked_positions"]}
        assert named <= chunks, (topic, name)
        # What lies after everything acknowledged, is whole and healthy, is only waiting.
        waiting = chunks - named
        last_acked = max(run["final"]["acked"], default=-1)
        if any(entry < last_acked for entry in waiting):
            unexplained[topic, name] = sorted(waiting)
    assert unexplained == {}


PERMIT_LEAK = {
    ("persistent://lab/s3/brk4-permit-gap-last", name) for name in ("go-excl-queue4-live", "j-excl-queue4-live")
}
"""Clients that ran out of permits: nothing in acknowledgement state shows it, and a restart of the client mends it."""


def test_blocked_for_ever_is_told_from_holes_for_every_client(
    stalls: dict[tuple[str, str], list[dict[str, Any]]],
) -> None:
    """Logs end with a plain message: a client that is not blocked has acknowledged it."""
    told: dict[bool, int] = {True: 0, False: 0}
    wrong = []
    for (topic, name), run in LAST_RUNS.items():
        log = CLIENTS[topic]["log"]
        if log[-1][2] is not None or (topic, name) in PERMIT_LEAK:
            continue
        really = len(log) - 1 in run["final"]["holes"]
        said = any(row["blocks_dispatch"] for row in stalls.get((topic, name), []))
        told[really] += 1
        if really != said:
            wrong.append((topic, name, really))
    assert wrong == []
    assert told == {True: 46, False: 249}


@pytest.fixture(scope="module")
def chunk_sets(bundled: Audited) -> dict[str, list[ChunkSet]]:
    """The publications of each topic with their copies."""
    copies: dict[tuple[str, str, int], list[Copy]] = {}
    for row in bundled.rows("chunks"):
        place = (row["ledger_id"], row["entry_id"])
        key = (row["topic"], row["chunk_uuid"], row["publish_time_ms"])
        copies.setdefault(key, []).append(Copy(place, row["chunk_id"], row["role"], row["payload_length"]))
    found: dict[str, list[ChunkSet]] = {}
    for row in bundled.rows("chunked_messages"):
        key = (row["topic"], row["chunk_uuid"], row["publish_time_ms"])
        found.setdefault(row["topic"], []).append(
            ChunkSet(
                row["chunk_uuid"], row["publish_time_ms"], row["state"], frozenset(row["flags"]), row["rebuildable"],
                row["sureness"], row["reason"], row["num_chunks"], tuple(copies[key]), False, row["rebuildable"],
            )
        )  # fmt: skip
    return found


def test_runs_whose_state_was_not_kept_are_told_as_well(chunk_sets: dict[str, list[ChunkSet]]) -> None:
    """Earlier runs of subscriptions that were opened again: the rules were made without looking at them."""
    last = {id(run) for run in LAST_RUNS.values()}
    told = {True: 0, False: 0}
    wrong = []
    for topic, said in CLIENTS.items():
        ends_plain = said["log"][-1][2] is None
        for run in said["runs"] if ends_plain else ():
            if id(run) in last or not run["final"]:
                continue
            final, ledger_id = run["final"], ledger_of(run)
            mark, read = (tuple(map(int, final[name].split(":"))) for name in ("markDelete", "read"))
            acked = max(final["acked"], default=None)
            view = SubscriptionView(
                run["subscription"], run["type"], mark, None if acked is None else (ledger_id, acked), read
            )
            verdicts = [
                judge(one, [copy.position <= mark or copy.position[1] in final["acked"] for copy in one.copies], view)
                for one in chunk_sets.get(topic, ())
            ]
            really = len(said["log"]) - 1 in final["holes"]
            told[really] += 1
            if really != any(verdict.blocks_dispatch for verdict in verdicts if verdict):
                wrong.append((topic, run["subscription"], run["run"], really))
    assert wrong == []
    assert told == {True: 19, False: 71}


def test_rule_4_holds_in_every_row(bundled: Audited) -> None:
    publications = {(row["topic"], row["chunk_uuid"]): [] for row in bundled.rows("chunked_messages")}  # type: dict[tuple[str, str], list[dict[str, Any]]]
    for row in bundled.rows("chunked_messages"):
        publications[row["topic"], row["chunk_uuid"]].append(row)
    rows = bundled.rows("stalls")
    for row in rows:
        family = publications[row["topic"], row["chunk_uuid"]]
        if row["action"] in ("acknowledge", "skip"):
            assert not any(one["rebuildable"] or one["state"] == "in_flight" for one in family), row
        if row["rebuildable"]:
            assert row["action"] in ("wait", "export_then_acknowledge", "reset_to_first_chunk"), row
    assert {"acknowledge", "export_then_acknowledge", "wait"} <= {row["action"] for row in rows}


def test_orphans_at_the_end_of_a_log_are_found(bundled: Audited) -> None:
    assert bundled.codes()["C27"] == ["persistent://lab/s3/brk2-tail-orphan"]


def test_findings_name_the_topics(bundled: Audited) -> None:
    codes = bundled.codes()
    assert "persistent://lab/s3/brk-missing" in codes["C24"]
    assert "persistent://lab/s3/brk-overlap" in codes["K07"]
    assert "persistent://lab/s3/brk2-tail-residue" in codes["C23"]
    # Nothing real is damaged.
    assert {"K05", "K10", "K11", "K12"} & set(codes) == set()
