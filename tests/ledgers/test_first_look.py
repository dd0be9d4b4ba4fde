"""A first look at a source tells within two seconds what is wrong with it, and refuses only what surely is."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from pulsar_backlog.errors import UsageError
from pulsar_backlog.ledgers import first_look
from pulsar_backlog.ledgers.first_look import look_at
from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.ledgers.store import open_source
from tests.auditing import OBJECTS, copy_ledgers, data_object, index_object
from tests.ledgers.conftest import S3Server
from tests.ledgers.encoding import UUID

TOPIC = "persistent://lab/s3/brk-out-of-order"
"""Of ledger 24 of the bundled backlog."""


def refusal(source: object, endpoint: str | None = None, scope: Scope = Scope()) -> str:  # noqa: B008 - frozen
    """What is said of a source, in time."""
    began = time.monotonic()
    with pytest.raises(UsageError) as refused:
        look_at(open_source(str(source), endpoint), scope)
    assert time.monotonic() - began < 2
    assert "\n" not in str(refused.value)
    return str(refused.value)


@contextmanager
def port(backlog: int | None = None) -> Iterator[str]:
    """The address of a port where nobody listens, or, with a backlog, where nobody ever accepts."""
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        if backlog is not None:
            taken.listen(backlog)
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_ledgers_in_a_folder(tmp_path: Path) -> None:
    copy_ledgers(tmp_path / "deep" / "er", [24])
    look_at(open_source(str(tmp_path)), Scope())


def test_an_empty_folder(tmp_path: Path) -> None:
    assert refusal(tmp_path).startswith(f"{tmp_path} is empty: ")
    (tmp_path / "below").mkdir()
    assert refusal(tmp_path).startswith(f"{tmp_path} is empty: ")


def test_a_folder_without_ledgers(tmp_path: Path) -> None:
    for name in ("notes.txt", "\x1b[31mred"):
        (tmp_path / name).write_text("?")
    said = refusal(tmp_path)
    assert said.startswith(f"{tmp_path} holds no offloaded ledger, but 2 other objects, such as ")
    assert "<uuid>-ledger-<id>" in said
    assert "\x1b" not in said


def test_no_folder(tmp_path: Path) -> None:
    assert "is not a folder" in refusal(tmp_path / "nope")


def test_ledgers_of_another_kind_are_left_to_the_inventory(tmp_path: Path) -> None:
    (tmp_path / UUID).write_bytes(bytes.fromhex("26A66D32") + bytes(200))
    look_at(open_source(str(tmp_path)), Scope())


def test_a_topic_that_is_there(tmp_path: Path) -> None:
    for glob in (TOPIC, "*/brk-out-of-order", "lab/s3/brk-out-*"):
        look_at(open_source(str(OBJECTS)), Scope(topics=("*/nope", glob)))


def test_a_topic_that_matches_nothing() -> None:
    said = refusal(OBJECTS, scope=Scope(topics=("*/brk-out-of-ordr", "x")))
    assert said.startswith(f"no ledger in {OBJECTS} is of a topic that matches --topic */brk-out-of-ordr or x: ")
    assert "51 topics" in said
    assert TOPIC in said  # what was most likely meant


def test_ledger_ids_that_are_not_there() -> None:
    look_at(open_source(str(OBJECTS)), Scope(ledgers=((1, 4), (24, 24))))
    said = refusal(OBJECTS, scope=Scope(ledgers=((900_000, 900_002), (999_999, 999_999))))
    assert said.startswith(f"no ledger in {OBJECTS} has an id within --ledger 900000-900002 or 999999: ")


def test_a_topic_among_other_ledgers(tmp_path: Path) -> None:
    """Ledger 24 is of the topic, and left out by its id."""
    copy_ledgers(tmp_path, [22, 24])
    assert "--topic" in refusal(tmp_path, scope=Scope(topics=(TOPIC,), ledgers=((22, 22),)))


def test_a_ledger_whose_topic_nothing_names_may_be_of_any(tmp_path: Path) -> None:
    copy_ledgers(tmp_path, [22, 24])
    index_object(tmp_path, 24).write_bytes(b"damaged")
    look_at(open_source(str(tmp_path)), Scope(topics=("*/nope",)))
    index_object(tmp_path, 24).unlink()
    look_at(open_source(str(tmp_path)), Scope(topics=("*/nope",)))
    data_object(tmp_path, 24).unlink()
    refusal(tmp_path, scope=Scope(topics=("*/nope",)))


def test_what_takes_longer_is_left_to_the_inventory(monkeypatch: pytest.MonkeyPatch) -> None:
    let_go = threading.Event()
    monkeypatch.setattr(first_look, "LOOK_SECONDS", 0.2)
    monkeypatch.setattr(first_look, "examine", lambda *_: let_go.wait(10))
    began = time.monotonic()
    look_at(open_source(str(OBJECTS)), Scope(topics=("*/nope",)))
    assert time.monotonic() - began < 1
    let_go.set()


def test_a_bucket(s3_server: S3Server, aws: pytest.MonkeyPatch) -> None:
    s3_server.fill("looked-at", {f"pre/{p.name}": (p.read_bytes(), {}) for p in OBJECTS.glob("*-ledger-24*")})
    look_at(open_source("s3://looked-at/pre", s3_server.endpoint), Scope(topics=(TOPIC,)))
    look_at(open_source("s3://looked-at", s3_server.endpoint), Scope())
    assert "s3://looked-at/other is empty" in refusal("s3://looked-at/other", s3_server.endpoint)
    assert "1 topic" in refusal("s3://looked-at", s3_server.endpoint, Scope(topics=("*/nope",)))


def test_a_bucket_that_is_not_there(s3_server: S3Server, aws: pytest.MonkeyPatch) -> None:
    assert "there is no bucket 'never-made'" in refusal("s3://never-made", s3_server.endpoint)


def test_no_credentials(s3_server: S3Server, aws: pytest.MonkeyPatch) -> None:
    aws.delenv("AWS_ACCESS_KEY_ID")
    aws.delenv("AWS_SECRET_ACCESS_KEY")
    said = refusal("s3://never-asked", s3_server.endpoint)
    assert said.startswith("s3://never-asked cannot be listed: ")
    assert "no AWS credentials in the environment, the profile or the files" in said


def test_an_endpoint_where_nobody_listens(aws: pytest.MonkeyPatch) -> None:
    with port() as endpoint:
        assert refusal("s3://bucket", endpoint) == (
            f"--endpoint {endpoint}: nothing listens there (Connection refused): check host and port, and whether it "
            "runs"
        )


def test_an_endpoint_that_does_not_answer(aws: pytest.MonkeyPatch) -> None:
    """As behind a firewall that lets nothing through: a full backlog takes no connection."""
    with port(backlog=0) as endpoint:
        host, number = endpoint.removeprefix("http://").split(":")
        waiting = [socket.socket() for _ in range(8)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex((host, int(number)))
        time.sleep(0.1)
        assert f"--endpoint {endpoint}: no connection within " in refusal("s3://bucket", endpoint)
        for one in waiting:
            one.close()


def test_an_endpoint_whose_host_is_unknown(aws: pytest.MonkeyPatch) -> None:
    assert "there is no host 'no.such.invalid'" in refusal("s3://bucket", "http://no.such.invalid:9000")


def test_an_endpoint_behind_a_proxy_is_not_knocked_at(s3_server: S3Server, aws: pytest.MonkeyPatch) -> None:
    """The proxy may know hosts that this machine does not."""
    aws.setenv("http_proxy", s3_server.endpoint)
    assert "there is no bucket 'bucket'" in refusal("s3://bucket", "http://no.such.invalid:9000")


def test_a_folder_that_cannot_even_be_looked_for() -> None:
    with pytest.raises(UsageError, match=r"cannot be opened \(File name too long\)"):
        open_source("x" * 300)
