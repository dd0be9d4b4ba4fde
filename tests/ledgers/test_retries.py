"""A store that throttles, fails, cuts or stands still costs time, never data; one that is not there is told soon."""

import itertools
import os
import socket
import time
from collections.abc import Iterator

import pytest

from pulsar_backlog.errors import SourceError
from pulsar_backlog.ledgers.buckets import patience, web
from pulsar_backlog.ledgers.buckets.access import DEFAULT_ACCESS, Access
from pulsar_backlog.ledgers.store import Source, open_source
from tests.ledgers.conftest import S3Server
from tests.ledgers.faulty import FAULTS, FaultyProxy, faulty

BODY = os.urandom(100_000)
NUMBERS = itertools.count()


@pytest.fixture
def proxy(s3_server: S3Server, aws: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    with faulty(s3_server.endpoint) as running:
        yield running


@pytest.fixture
def source(s3_server: S3Server, proxy: FaultyProxy) -> Source:
    name = f"retries-{next(NUMBERS)}"
    s3_server.fill(name, {f"object-{n}": (BODY, {"Key": "Value"}) for n in range(6)})
    return open_source(f"s3://{name}", proxy.endpoint, Access(timeout_seconds=8))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short waits, and a store that stands still is noticed soon."""
    monkeypatch.setattr(patience, "FIRST_WAIT_SECONDS", 0.001)
    monkeypatch.setattr(web, "SILENCE_SECONDS", 0.3)


@pytest.mark.parametrize("fault", FAULTS)
def test_every_third_answer(source: Source, proxy: FaultyProxy, impatient: None, fault: str) -> None:
    proxy.every(3, fault)
    errors: list[SourceError] = []
    assert [stored.path for stored in source.list(errors.append)] == [f"object-{n}" for n in range(6)]
    for n in range(6):
        assert source.read(f"object-{n}", 10, 90_000).tobytes() == BODY[10:90_000]
        assert source.fetch(f"object-{n}", 100_000).data == BODY
        assert source.user_metadata(f"object-{n}")["key"] == "Value"
    assert errors == []
    assert proxy.faults[fault] >= 6


@pytest.mark.parametrize("fault", ["429", "500", "503", "cut"])
def test_eight_attempts_at_least(source: Source, proxy: FaultyProxy, impatient: None, fault: str) -> None:
    proxy.plan([fault] * 7)
    assert len(list(source.list())) == 6
    proxy.plan([fault] * 7)
    assert source.read("object-0", 0, 100_000).tobytes() == BODY


def test_waits_grow_and_vary() -> None:
    waits = {tried: [patience.wait_seconds(tried) for _ in range(300)] for tried in (1, 4, 20)}
    for tried, bound in ((1, 0.4), (4, 3.2), (20, 10.0)):
        assert bound * 0.5 < max(waits[tried]) <= bound
        assert min(waits[tried]) < bound * 0.3


def test_an_end_to_patience(source: Source, proxy: FaultyProxy, impatient: None) -> None:
    proxy.every(1, "503")
    for _ in range(patience.LOST_CAUSE):
        with pytest.raises(SourceError, match="503"):
            source.read("object-0", 0, 10)
    assert len(proxy.asked) == DEFAULT_ACCESS.attempts * patience.LOST_CAUSE
    with pytest.raises(SourceError):
        source.read("object-1", 0, 10)
    assert (
        len(proxy.asked) == DEFAULT_ACCESS.attempts * patience.LOST_CAUSE + 1
    )  # not half a minute for each of a million
    proxy.plan([])
    assert source.read("object-1", 0, 10).tobytes() == BODY[:10]
    proxy.plan(["503"] * 7)
    assert source.read("object-1", 0, 10).tobytes() == BODY[:10]


@pytest.mark.parametrize("status", ["400", "403", "404"])
def test_a_refusal_is_believed_at_once(source: Source, proxy: FaultyProxy, status: str) -> None:
    proxy.every(1, status)
    with pytest.raises(SourceError):
        source.read("object-0", 0, 10)
    assert len(proxy.asked) == 1


def test_nobody_listens(aws: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    source = open_source("s3://bucket", f"http://127.0.0.1:{port}")
    began = time.monotonic()
    with pytest.raises(SourceError) as caught:
        list(source.list())
    assert caught.value.reason == "unreachable"
    with pytest.raises(SourceError) as caught:
        source.read("object", 0, 10)
    assert caught.value.reason == "unreachable"
    assert time.monotonic() - began < 8


def test_an_answer_shorter_than_it_says_is_no_end_of_the_object(
    source: Source, proxy: FaultyProxy, impatient: None
) -> None:
    proxy.plan(["short"])
    assert source.read("object-0", 0, 100_000).tobytes() == BODY
    proxy.plan(["short"])
    assert source.fetch("object-0", 100_000).data == BODY
