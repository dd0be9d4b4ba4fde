"""Repairs over TLS, and over connections that break: done, or stopped with a clear word; never done twice."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pulsar
import pytest
from pulsar import ConsumerType, InitialPosition

from pulsar_backlog.repair.values import Action
from tests.broker.conftest import Admin
from tests.broker.identity import make_identity
from tests.broker.process import Broker
from tests.broker.proxy import proxied
from tests.broker.publishing import Position, message, publish
from tests.broker.repairing import make_plan, message_of, repair, runs, said_by

PAYLOAD = os.urandom(150_000)  # three chunks


def words(told: list[dict[str, str]]) -> list[str]:
    return [row["result"] for row in told]


@pytest.fixture
def positions(broker: Broker, admin: Admin, client: pulsar.Client, topic: str) -> list[Position]:
    """A topic with deduplication, a subscription `s` without consumers, and entries."""
    client.subscribe(topic, "s", consumer_type=ConsumerType.Shared, initial_position=InitialPosition.Earliest).close()
    stored = publish(broker, topic, [message(n, b"%d" % n) for n in range(120)])
    admin.post(topic, "deduplicationEnabled", True)
    deadline = time.monotonic() + 10
    while admin.get(topic, "deduplicationEnabled?applied=true") is not True and time.monotonic() < deadline:
        time.sleep(0.1)
    return stored


def plan_of(folder: Path, topic: str, positions: list[Position]) -> Path:
    """Acknowledge every second entry, and publish a message of several chunks."""
    sent = message_of(PAYLOAD, positions[-1])
    return make_plan(folder, [
        Action(0, "acknowledge", topic, "r", "s", runs(positions[::2])),
        Action(1, "republish", topic, "r", message=sent),
    ], {1: PAYLOAD})  # fmt: skip


def stored_after(client: pulsar.Client, topic: str, position: Position) -> list[bytes]:
    """What a reader gets of what came after a position."""
    reader = client.create_reader(topic, pulsar.MessageId(-1, *position, -1))
    found = []
    while reader.has_message_available():
        try:
            found.append(reader.read_next(2000).data())
        except pulsar.Timeout:
            break
    reader.close()
    return found


def acked(admin: Admin, topic: str) -> set[int]:
    """Entries of the only ledger that `s` has acknowledged, by what the broker says of it."""
    mark_delete, ranges = admin.cursors(topic)["s"]
    found = set(range(int(mark_delete.split(":")[1]) + 1))
    for first, last in re.findall(r"\(\d+:(-?\d+)\.\.\d+:(\d+)\]", ranges):
        found |= set(range(int(first) + 1, int(last) + 1))
    return found


@pytest.mark.parametrize("proof", ["token", "certificate"])
def test_tls_with_token_or_certificate(
    broker: Broker, client: pulsar.Client, topic: str, positions: list[Position], tmp_path: Path, proof: str
) -> None:
    plan = plan_of(tmp_path / "plan", topic, positions)
    keys = broker.identity
    who = {
        "token": ["--token-file", str(broker.token_file)],
        "certificate": ["--cert-file", str(keys.client_cert), "--key-file", str(keys.client_key)],
    }[proof]
    where = ["--admin-url", broker.admin_tls_url, "--service-url", broker.service_tls_url, "--ca-file", str(keys.ca)]
    code, told = said_by(["repair", "apply", str(plan), *where, *who, "--yes"])
    assert (code, words(told)) == (0, ["done", "done"]), told
    code, told = said_by(["repair", "verify", str(plan), *where, *who])
    assert (code, words(told)) == (0, ["verified", "verified"]), told
    assert stored_after(client, topic, positions[-1]) == [PAYLOAD]


def _other_authority(broker: Broker, folder: Path) -> tuple[str, ...]:
    return ("--ca-file", str(make_identity(folder / "other").ca))


def _other_name(broker: Broker, folder: Path) -> tuple[str, ...]:
    local = broker.service_tls_url.replace("127.0.0.1", "localhost")  # the certificate names the address only
    return ("--ca-file", str(broker.identity.ca), "--service-url", local)


@pytest.mark.parametrize("wrong", [_other_authority, _other_name])
def test_a_broker_that_is_not_who_it_should_be(
    broker: Broker, admin: Admin, client: pulsar.Client, topic: str, positions: list[Position], tmp_path: Path,
    wrong: Callable[[Broker, Path], tuple[str, ...]],
) -> None:  # fmt: skip
    plan = plan_of(tmp_path / "plan", topic, positions)
    before = admin.cursors(topic)
    flags = ("--service-url", broker.service_tls_url, "--timeout-seconds", "3", *wrong(broker, tmp_path))
    code, told = repair(broker, "apply", plan, "--yes", *flags)  # the admin API answers, without TLS
    assert (code, words(told)) == (1, ["failed", "failed"])
    assert "with TLS that the broker's certificate names this host and descends from --ca-file" in told[0]["note"]
    assert "no TLS (" in told[1]["note"]
    url = broker.admin_tls_url.replace("127.0.0.1", "localhost")
    code, told = repair(broker, "apply", plan, "--yes", *flags, "--admin-url", url)
    assert (code, words(told)) == (1, ["failed", "failed"])
    assert all("no TLS (" in one["note"] and "--ca-file" in one["note"] for one in told)
    assert admin.cursors(topic) == before
    assert stored_after(client, topic, positions[-1]) == []


@pytest.mark.parametrize("stays_broken", [False, True])
def test_connections_that_break_while_acknowledging(
    broker: Broker, admin: Admin, topic: str, positions: list[Position], tmp_path: Path, stays_broken: bool
) -> None:
    plan = make_plan(tmp_path / "plan", [Action(0, "acknowledge", topic, "r", "s", runs(positions[::2]))])
    with proxied(broker.service_url) as proxy:
        proxy.cut_after(800, 1200)  # of some 1800
        proxy.stays_broken = stays_broken
        code, told = repair(broker, "apply", plan, "--yes", "--per-second", "30", "--service-url", proxy.service_url)
        assert proxy.cuts == (1 if stays_broken else 2)
    assert (code, words(told)) == ((1, ["failed"]) if stays_broken else (0, ["done"])), told
    if stays_broken:
        assert "unreachable: no connection" in told[0]["note"]
        assert 0 < len(acked(admin, topic)) < 60
        assert words(repair(broker, "apply", plan, "--yes")[1]) == ["done"]
    assert words(repair(broker, "verify", plan)[1]) == ["verified"]
    assert acked(admin, topic) == {entry_id for _, entry_id in positions[::2]}


@pytest.mark.parametrize("lost_answer", [3, 4, 5, 6])
def test_a_connection_that_breaks_while_publishing(
    broker: Broker, client: pulsar.Client, topic: str, positions: list[Position], tmp_path: Path, lost_answer: int
) -> None:
    """Answers: to the connection, the lookup, the producer, then to each of three chunks."""
    sent = message_of(PAYLOAD, positions[-1])
    plan = make_plan(tmp_path / "plan", [Action(0, "republish", topic, "r", message=sent)], {0: PAYLOAD})
    with proxied(broker.service_url) as proxy:
        proxy.lose_answer(lost_answer)
        code, told = repair(broker, "apply", plan, "--yes", "--service-url", proxy.service_url)
        assert proxy.cuts == 1
    assert (code, words(told)) == (1, ["failed"])
    assert "the connection broke" in told[0]["note"]
    assert words(repair(broker, "verify", plan)[1]) == ["not yet"]
    code, told = repair(broker, "apply", plan, "--yes")
    assert (code, words(told)) == (0, ["done"])
    assert words(repair(broker, "verify", plan)[1]) == ["verified"]
    last = positions[-1]
    # Three chunks, after as many as the first attempt stored; when it stored all, there is no second.
    assert told[0]["note"] == f"stored at {last[0]}:{last[1] + 3 + (lost_answer - 3) % 3}"
    assert stored_after(client, topic, last) == [
        PAYLOAD
    ]  # a Python client drops a message whose first chunk comes twice
