"""Several consumers on one subscription of a real broker: what audit, forecast and plan say of it, and what helps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pulsar
import pytest
from pyspark.sql import SparkSession

from pulsar_backlog.chunks.dispatch.forecast import consumers_of, forecast
from pulsar_backlog.report.outlook import consumer_words
from pulsar_backlog.terms import EXIT_UNCHANGED, Position
from tests.broker.conftest import Admin
from tests.broker.live_audit import LiveAudit
from tests.broker.process import Broker
from tests.broker.publishing import publish
from tests.broker.repairing import repair, said_by
from tests.broker.test_repair_states import planned, results
from tests.several_consumers.conftest import NewGroup
from tests.several_consumers.group import TYPES, Entry, Group, entries_of, stored_entries
from tests.several_consumers.releases import JAVA_CLIENT, RELEASES, Release


def held_up(out: Path) -> list[dict[str, Any]]:
    """What the audit says of the subscription."""
    code, rows = said_by(["sql", str(out), "SELECT * FROM held_up_subscriptions", "--format", "jsonl"])
    assert code == 0, rows
    return [row for row in rows if row]  # no row is an empty line


def actions_of(said: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a plan does."""
    return [one for one in said if one["record"] == "repair_action" and one["kind"] != "settings"]


def forecast_of(out: Path, topic: str, consumers: str, *words: str) -> str:
    """The verdict of a forecast from what the audit saved."""
    code, rows = said_by(
        ["forecast", str(out), "--topic", topic, "--subscription", "s", "--consumers", consumers, *words]
    )
    assert code == 0, rows
    return str(rows[0]["verdict"])


def applied(broker: Broker, plan: Path, *flags: str) -> None:
    """The dry run changes nothing; then it is done and verified."""
    code, told = repair(broker, "apply", plan, *flags)
    assert (code, set(results(told))) == (0, {"fits"}), told
    code, told = repair(broker, "apply", plan, "--yes", *flags)
    assert (code, set(results(told))) == (0, {"done"}), told


def sent_while_c1_leaves(broker: Broker, topic: str, members: Group, entries: list[Entry]) -> list[Position]:
    """c1 leaves in mid-message, and c2 stays: what c1 began is pinned to the dead."""
    members.join("c1")
    positions = publish(broker, topic, entries[:1])
    members.settled()
    members.join("c2")
    members.leave("c1")
    return positions + publish(broker, topic, entries[1:], "by-hand-2")


def test_chunks_pinned_to_the_dead_are_named_and_an_unload_frees_them(
    broker: Broker, admin: Admin, topic: str, group: NewGroup, tmp_path: Path, spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    entries = entries_of("A0/3 A1/3 A2/3 B0/2 B1/2")
    members = group("Shared")
    positions = sent_while_c1_leaves(broker, topic, members, entries)
    assert members.settled() == (1, 3)  # B; A is with nobody
    (connected,) = admin.get(topic, "stats")["subscriptions"]["s"]["consumers"]
    words, whose = consumer_words([connected["clientVersion"]], 1)  # as a report forecasts it
    assert (words.split()[0], whose) == ("cpp", "saved"), connected["clientVersion"]
    live = LiveAudit(tmp_path, broker, topic, entries, positions)
    out = live.audit("before")
    assert [(row["kind"], row["remedy"]) for row in held_up(out)] == [("pinned_to_dead", "unload")]
    assert forecast_of(out, topic, "python", "--event", "unload").startswith("After unload: it drains")

    plan, said = planned(capsys, out)
    (action,) = actions_of(said)
    assert (action["kind"], action["cause"], action["subscription"]) == ("unload", "pinned_to_dead", "s")
    applied(broker, plan)
    assert members.settled() == (2, 0)
    code, told = repair(broker, "verify", plan)
    assert (code, results(told)) == (0, ["verified"]), told
    assert held_up(live.audit("after")) == []


def test_an_unload_that_frees_nothing_any_more_is_not_done(
    broker: Broker, topic: str, group: NewGroup, tmp_path: Path, spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    entries = entries_of("A0/2 A1/2")
    members = group("Shared")
    positions = sent_while_c1_leaves(broker, topic, members, entries)
    assert members.settled() == (0, 2)
    plan, _said = planned(capsys, LiveAudit(tmp_path, broker, topic, entries, positions).audit("out"))
    members.leave("c2")
    members.join("c3")  # all had left, so all comes again
    assert members.settled() == (1, 0)
    code, told = repair(broker, "apply", plan, "--yes")
    assert (code, results(told)) == (EXIT_UNCHANGED, ["already"]), told


def test_a_headless_chunk_that_blocks_is_acknowledged_by_the_plan_and_the_rest_comes(
    broker: Broker, topic: str, group: NewGroup, tmp_path: Path, spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    entries = entries_of(".P A1/2 .B C0/2 C1/2")
    members = group("Shared")
    for name in ("c1", "c2"):
        members.join(name)
    positions = []
    for number, entry in enumerate(entries):  # one by one, so that none is read together with another
        positions += publish(broker, topic, [entry], f"by-hand-{number}")
        members.settled()
    assert members.settled() == (1, 4)
    out = LiveAudit(tmp_path, broker, topic, entries, positions).audit("out")
    assert "headless_chunk" in [row["kind"] for row in held_up(out)]
    assert forecast_of(out, topic, "python x 2").startswith("It does not drain: 1 entry stays.")  # the headless one
    plan, said = planned(capsys, out, accept_unsure="cannot_tell")
    (action,) = actions_of(said)
    assert (action["kind"], action["entries"]) == ("acknowledge", 1)
    applied(broker, plan, "--allow-consumers")
    assert members.settled() == (3, 0)


def test_a_join_in_mid_message_holds_up_key_shared_until_the_owner_leaves(
    broker: Broker, topic: str, group: NewGroup, tmp_path: Path, spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    labels = "ABCDEFGH"
    entries = entries_of(" ".join([*(f"{one}0/2" for one in labels), *(f"{one}1/2" for one in labels)]))
    members = group("Key_Shared")
    members.join("c1")
    positions = publish(broker, topic, entries[:8])
    members.settled()
    members.join("c2")
    positions += publish(broker, topic, entries[8:], "by-hand-2")
    came, left = members.settled()
    assert 0 < came < 8  # keys that stayed with c1
    assert left == 2 * (8 - came)
    out = LiveAudit(tmp_path, broker, topic, entries, positions).audit("out")
    (reason,) = (row for row in held_up(out) if row["kind"] == "draining_hashes")
    assert (reason["remedy"], "of c1 drain" in reason["evidence"]) == ("let_leave", True)
    assert forecast_of(out, topic, "python") == "It drains."  # with the one that stays
    _plan, said = planned(capsys, out)
    assert actions_of(said) == []  # an application has them
    members.leave("c1")
    assert members.settled() == (8, 0)


def audited(broker: Broker, out: Path, topics: str) -> None:
    """Audit live topics and export their messages, by the commands that users type."""
    token = ["--token-file", str(broker.token_file)]
    live = ["--admin-url", broker.admin_url, "--topic", topics, "--out", str(out), "--fail-on", "never"]
    code, said = said_by(["audit", broker.service_url, *live, *token])
    assert code == 0, said
    code, said = said_by(["export", str(out), "--admin-url", broker.admin_url, *token])
    assert code == 0, said


def test_dead_letters_that_left_chunks_at_the_source_are_acknowledged_when_their_copy_is_whole(
    broker: Broker, release: Release, topic: str, group: NewGroup, tmp_path: Path, spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    entries = entries_of("A0/3 A1/3 A2/3 .B L0/2 L1/2", size=90_000)  # its producer of dead letters cuts them again
    members = group("Shared")
    positions = publish(broker, topic, entries)
    rejecting = f"{JAVA_CLIENT} rejects 1"
    (stage,) = forecast(
        stored_entries(entries), consumers_of(rejecting, 1000), [], broker=release.line, dispatch="Shared"
    )
    members.join("c1", rejecting)
    assert members.settled(quiet_s=4.0) == (0, 3)  # of each chunked message all but its last chunk
    assert (stage.certain.backlog, stage.dead_letters) == ((3, 3), (3, 3))
    members.leave("c1")
    audited(broker, tmp_path / "out", f"{topic}*")
    assert "dead_letters_left" in [row["kind"] for row in held_up(tmp_path / "out")]
    plan, said = planned(capsys, tmp_path / "out")
    (action,) = actions_of(said)
    assert (action["kind"], action["cause"], action["entries"]) == ("acknowledge", "dead_lettered", 3)
    assert len(positions) == 6
    applied(broker, plan, "--allow-consumers")
    assert members.backlog() == 0
    assert results(repair(broker, "verify", plan)[1]) == ["verified"]


@pytest.mark.parametrize("release", RELEASES[:1], ids=lambda release: release.version, indirect=True)  # up to the plan
def test_another_message_that_claims_to_be_the_dead_letter_is_not_its_copy(
    broker: Broker, client: pulsar.Client, topic: str, group: NewGroup, tmp_path: Path,
    spark: SparkSession, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    entries = entries_of("A0/3 A1/3 A2/3 .B")
    group("Shared")
    positions = publish(broker, topic, entries)
    consumer = client.subscribe(topic, "s", consumer_type=TYPES["Shared"], receiver_queue_size=0)
    for ledger, entry in positions[2:]:  # as Java 4.2 leaves it: the last chunk alone
        consumer.acknowledge(pulsar.MessageId(-1, ledger, entry, -1))
    consumer.close()
    origin = ";".join(f"{ledger}:{entry}:-1" for ledger, entry in (positions[0], positions[2]))
    properties = {"ORIGIN_MESSAGE_ID": origin, "REAL_SUBSCRIPTION": "s", "REAL_TOPIC": topic}
    client.create_producer(f"{topic}-s-DLQ").send(b"another message", properties=properties)
    audited(broker, tmp_path / "out", f"{topic}*")
    assert "dead_letters_left" in [row["kind"] for row in held_up(tmp_path / "out")]
    _plan, said = planned(capsys, tmp_path / "out")
    assert actions_of(said) == []
    assert any("may be a dead letter" in one["why"] for one in said if one["record"] == "held_back")
