"""`estimate`: what it counts is what an audit does; what it measures comes of real ledgers."""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.arguments import scope_of
from pulsar_backlog.estimate import START_SECONDS, Prices, estimate
from pulsar_backlog.ledgers.buckets.access import Access
from pulsar_backlog.ledgers.inventory import take_inventory
from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.ledgers.store import open_source
from pulsar_backlog.ledgers.units import units_of
from pulsar_backlog.ledgers.walk import walk_unit
from pulsar_backlog.options import Options
from pulsar_backlog.report.terminal.estimated import Estimate
from tests.auditing import OBJECTS, copy_ledgers, data_object
from tests.cli.test_usage import run
from tests.ledgers.conftest import S3Server, aws, s3_server
from tests.ledgers.encoding import UUID, offload

__all__ = ["aws", "s3_server"]

FREE = Prices(0, 0, 0)


def of(source: Path | str, sample_bytes: int = 1 << 26, scope: Scope | None = None, processes: int = 1) -> Estimate:
    return estimate(open_source(str(source)), scope or Scope(), FREE, sample_bytes, processes)


def test_a_folder() -> None:
    found = of(OBJECTS)
    copies = [copy for copy in take_inventory(open_source(str(OBJECTS))).copies if copy.selected]
    assert (found.ledgers, found.copies) == (len(copies), len(list(OBJECTS.glob("*-index"))))
    assert found.objects == len(list(OBJECTS.iterdir()))
    assert found.data_bytes == sum(copy.data_bytes or 0 for copy in copies)
    assert (found.lists, found.gets, found.cost, found.unreadable) == (0, 0, None, 0)
    assert (found.measured.ledgers, found.measured.block_bytes) == (16, None)
    assert found.seconds is not None and found.seconds > START_SECONDS


def test_what_is_measured_is_what_is_there(tmp_path: Path) -> None:
    source = copy_ledgers(tmp_path, [22, 24, 292])
    found, opened = of(source).measured, open_source(str(source))
    units = [unit for copy in take_inventory(opened).copies for unit in units_of(copy)]
    assert found.entries == sum(len(batch.entry_id) for unit in units for batch in walk_unit(opened, unit))
    assert found.data_bytes == sum(data_object(source, ledger_id).stat().st_size for ledger_id in (22, 24, 292))
    assert found.seconds > 0 < found.look_seconds
    some = of(source, sample_bytes=1).measured
    assert (some.ledgers, some.data_bytes) == (1, data_object(source, 22).stat().st_size)


def test_time_is_in_proportion() -> None:
    """The same measurement: twice the processes halve what is not the start."""
    found = of(OBJECTS, processes=4)
    assert found.seconds is not None
    reading = found.data_bytes * found.measured.seconds / found.measured.data_bytes / 4
    looking = found.copies * found.measured.look_seconds / 16
    assert math.isclose(found.seconds, START_SECONDS + reading + looking)


def test_one_copy_of_each_is_read(tmp_path: Path) -> None:
    source = copy_ledgers(tmp_path, [22, 24])
    data = data_object(source, 22)
    spare = data.with_name("0f8fad5b-d9cb-469f-a165-70867728950e-ledger-22")
    spare.write_bytes(data.read_bytes()[:-1])
    (tmp_path / "readme.txt").write_bytes(b"?")
    found = of(source)
    assert (found.objects, found.other_objects, found.ledgers, found.copies) == (6, 1, 2, 3)
    assert found.data_bytes == data.stat().st_size + data_object(source, 24).stat().st_size
    scoped = of(source, scope=scope_of(Options(ledger=("24",))))
    assert (scoped.ledgers, scoped.data_bytes) == (1, data_object(source, 24).stat().st_size)


def test_requests_are_those_that_are_made(s3_server: S3Server, aws: pytest.MonkeyPatch) -> None:
    """Against the requests of an inventory and a walk over everything, as the bucket's client makes them."""
    from pulsar_backlog.ledgers.buckets.bucket import Bucket

    names = ["0f8fad5b-d9cb-469f-a165-70867728950e-ledger-1", "0f8fad5b-d9cb-469f-a165-70867728950e-ledger-2"]
    many, one = offload([b"x" * 3000] * 40, block_bytes=20_000), offload([b"y" * 100] * 5)
    objects = dict(zip(names, (many, one), strict=True))
    s3_server.fill("priced", {name: (made.data, {}) for name, made in objects.items()}
                   | {f"{name}-index": (made.index, {}) for name, made in objects.items()})  # fmt: skip
    source = open_source("s3://priced", s3_server.endpoint, Access(range_bytes=16_384))
    found = estimate(source, Scope(), Prices(1000, 10_000, 1e9), 1 << 26, 1)
    asked: Counter[str] = Counter()
    real = Bucket._or_failure

    def counting(self: Bucket, path: str, request: Any) -> Any:
        asked["get"] += 1
        return real(self, path, request)

    aws.setattr(Bucket, "_or_failure", counting)
    for copy in take_inventory(source).copies:
        for unit in units_of(copy):
            for _ in walk_unit(source, unit):
                pass
    assert found.gets == asked["get"]
    assert found.lists == 1
    assert found.cost == found.gets + 10 + found.data_bytes + found.index_bytes


def test_nothing_to_estimate(tmp_path: Path) -> None:
    from pulsar_backlog.errors import UsageError

    with pytest.raises(UsageError, match=r"no offloaded ledger with data, or none within --ledger$"):
        of(tmp_path)
    (tmp_path / UUID).write_bytes(bytes.fromhex("26A66D32") + bytes(200))
    with pytest.raises(UsageError, match="streaming offload are not estimated"):
        of(tmp_path)


def test_a_sample_that_cannot_be_read(tmp_path: Path) -> None:
    source = copy_ledgers(tmp_path, [22])
    data_object(source, 22).write_bytes(b"")
    found = of(source)
    assert (found.seconds, found.measured.data_bytes) == (None, 0)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    source = copy_ledgers(tmp_path / "source", [22, 24])
    before = sorted(source.iterdir())
    assert run(monkeypatch, "estimate", source, "--processes", "3") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["ledgers"], said["processes"], said["measured"]["ledgers"]) == (2, 3, 2)
    assert sorted(source.iterdir()) == before
    shutil.rmtree(source)
    assert run(monkeypatch, "estimate", source) == 2
