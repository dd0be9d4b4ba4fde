"""The limit on bytes a second: used to nine tenths by whoever reads, and never exceeded by all together."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path

import pytest

from pulsar_backlog.ledgers.live.pace import CREDIT_SECONDS, Pace
from pulsar_backlog.ledgers.live.place import LivePlace
from pulsar_backlog.ledgers.live.service import Live
from pulsar_backlog.ledgers.live.values import Hidden
from tests.cluster.admin_server import admin_server
from tests.ledgers.live.brokers import ServedTopic
from tests.wire.encode import entry

SECONDS = 3.0
RATE = 400_000


def spent(path: Path, sizes: int, work_seconds: float) -> int:
    """Bytes that one reader had within `SECONDS`, with work between its reads."""
    pace, began, total = Pace(RATE, path=path), time.monotonic(), 0
    while True:
        pace.spend(sizes)
        if time.monotonic() - began > SECONDS:
            return total
        total += sizes
        time.sleep(work_seconds)


@pytest.mark.parametrize("readers", [1, 3])
def test_processes_share_it(readers: int, tmp_path: Path) -> None:
    """One of several that runs alone has all of it; what it does between reads costs nothing."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(readers) as pool:
        pool.starmap(time.sleep, [(0.1,)] * readers)  # all of them are there
        began = time.monotonic()
        total = sum(pool.starmap(spent, [(tmp_path / "pace", 40_000, 0.05)] * readers))
        seconds = time.monotonic() - began
    assert total <= RATE * seconds
    assert total >= 0.9 * RATE * SECONDS - readers * 40_000


def test_idle_time_is_made_up_for_within_bounds() -> None:
    now, slept = [100.0], list[float]()
    pace = Pace(1000, lambda: now[0], slept.append)
    pace.spend(1000)
    now[0] += 1 + CREDIT_SECONDS / 2  # it slept a second, and worked
    pace.spend(400)
    assert slept == [1.0]
    now[0] += 3600
    pace.spend(1000 + int(1000 * CREDIT_SECONDS))
    assert slept[1:] == [pytest.approx(1.0)]


def test_a_reader_keeps_the_rate() -> None:
    """Over real connections, where brokers send ahead."""
    data = entry(payload=bytes(4000))
    count, rate = 600, 1_000_000
    with admin_server() as admin:
        broker = ServedTopic({(7, n): data for n in range(count)})
        place = LivePlace(Live(broker.url, admin.url, max_rate=rate))
        reading = place.entries("persistent://lab/s/a/7", 0, count - 1, len(data))
        next(reading)
        began = time.monotonic()
        total = 0
        for one in reading:
            assert not isinstance(one, Hidden)
            total += len(one[1])
            time.sleep(0.001)  # work
        seconds = time.monotonic() - began
        broker.close()
    assert 0.9 * rate <= total / seconds <= rate
