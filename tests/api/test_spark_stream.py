"""The streaming reader: each message once, whatever arrives late and whoever is killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

import pulsar_backlog
from pulsar_backlog.api.spark_options import SparkOptions
from pulsar_backlog.api.spark_source import PulsarBacklogSource
from pulsar_backlog.api.spark_stream import BacklogStreamReader
from pulsar_backlog.errors import SourceError, UsageError
from tests.auditing import DATA, OBJECTS

NEEDS_SPARK = True

MAPFILES = DATA / "mapfiles"
KEY = ("ledger_id", "entry_id", "batch_index")
ROOT = Path(__file__).parents[2]
Key = tuple[int, int, int]


def keys_of(table: pa.Table) -> Counter[Key]:
    return Counter(zip(*(table.column(name).to_pylist() for name in KEY), strict=True))


def stored(source: Path, **choices: Any) -> Counter[Key]:
    return keys_of(pulsar_backlog.open(str(source)).messages(columns=KEY, **choices).read_all())


def reader_of(source: Path, **options: str) -> BacklogStreamReader:
    made = PulsarBacklogSource({"path": str(source), **options})
    reader = made.streamReader(made.schema())
    assert isinstance(reader, BacklogStreamReader)
    return reader


def delivered(reader: BacklogStreamReader, start: dict[str, Any], end: dict[str, Any]) -> Counter[Key]:
    found: Counter[Key] = Counter()
    for part in reader.partitions(start, end):
        for batch in reader.read(part):
            found += keys_of(pa.Table.from_batches([batch]))
    return found


@pytest.mark.parametrize(("source", "visible"), [(OBJECTS, "committed"), (MAPFILES, "stored")])
def test_batches_of_any_size_are_each_message_once(source: Path, visible: Any) -> None:
    for most in (None, 19):
        reader = reader_of(source, visible=visible)
        limit = None if most is None else SimpleNamespace(max_rows=most)
        start, found, batches = reader.initialOffset(), Counter[Key](), 0
        while (end := reader.latestOffset(start, limit)) != start:
            found += delivered(reader, start, end)
            start, batches = end, batches + 1
        assert found == stored(source, visible=visible)
        assert batches == 1 if most is None else batches > 3


def test_a_batch_that_is_begun_again_is_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "objects"
    late = move_ledgers(OBJECTS, folder)
    reader = reader_of(folder)
    first = reader.latestOffset()
    before = delivered(reader, reader.initialOffset(), first)
    for path in late:
        shutil.copy(path, folder)
    again = reader_of(folder)  # a new process
    assert delivered(again, again.initialOffset(), first) == before
    second = again.latestOffset()
    assert before + delivered(again, first, second) == stored(OBJECTS)
    assert again.latestOffset() == second


def test_a_stream_of_what_is_there_now_ends_there(tmp_path: Path) -> None:
    """Spark from 4.2 on says so before it asks for the first offset, also of a query that is started again."""
    folder = tmp_path / "objects"
    late = move_ledgers(OBJECTS, folder)
    before, reader = stored(folder), reader_of(folder)
    reader.prepareForTriggerAvailableNow()
    for path in late:
        shutil.copy(path, folder)
    limit, start, found = SimpleNamespace(max_rows=19), reader.initialOffset(), Counter[Key]()
    while (end := reader.latestOffset(start, limit)) != start:
        found += delivered(reader, start, end)
        start = end
    assert found == before
    again = reader_of(folder)
    again.prepareForTriggerAvailableNow()
    assert found + delivered(again, start, again.latestOffset(start)) == stored(OBJECTS)


def test_a_ledger_that_is_away_for_a_while_is_not_delivered_again(tmp_path: Path) -> None:
    """Spark 4.0 and 4.1 do not say where a batch begins: the reader itself knows how far each ledger was read."""
    folder = tmp_path / "objects"
    shutil.copytree(OBJECTS, folder)
    reader = reader_of(folder)
    first = reader.latestOffset()
    found = delivered(reader, reader.initialOffset(), first)
    away = [path for path in folder.iterdir() if "-ledger-292" in path.name]
    assert away
    for path in away:
        path.rename(tmp_path / path.name)
    second = reader.latestOffset()
    found += delivered(reader, first, second)
    for path in away:
        (tmp_path / path.name).rename(path)
    found += delivered(reader, second, reader.latestOffset())
    assert found == stored(OBJECTS)


def test_a_ledger_without_its_index_is_waited_for(tmp_path: Path) -> None:
    """Nothing names its topic yet, so its chunked messages would be passed over, and never come."""
    folder = tmp_path / "objects"
    shutil.copytree(OBJECTS, folder)
    (index,) = (path for path in folder.iterdir() if path.name.endswith("-ledger-10-index"))
    index.rename(tmp_path / index.name)
    reader = reader_of(folder)
    first = reader.latestOffset()
    found = delivered(reader, reader.initialOffset(), first)
    (tmp_path / index.name).rename(index)
    found += delivered(reader, first, reader.latestOffset())
    assert found == stored(OBJECTS)


def move_ledgers(source: Path, folder: Path) -> list[Path]:
    """Copy every second ledger, the higher ids first; the files that are left."""
    folder.mkdir()
    ledgers = sorted({path.name.removesuffix("-index") for path in source.iterdir()})
    late = []
    for path in source.iterdir():
        if ledgers.index(path.name.removesuffix("-index")) % 2:
            shutil.copy(path, folder)
        else:
            late.append(path)
    assert late
    return late


def test_a_transaction_that_has_not_ended_stops_a_stream() -> None:
    """Passed over it would be lost: the marker that commits it is in a later batch."""
    reader = reader_of(MAPFILES, topic="*/txn")
    with pytest.raises(SourceError, match="has not ended"):
        delivered(reader, reader.initialOffset(), reader.latestOffset())


def test_limits_are_asked_for_where_spark_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = SimpleNamespace(ReadAllAvailable=lambda: "all", ReadMaxRows=lambda most: most)
    monkeypatch.setitem(sys.modules, "pyspark.sql.streaming.datasource", limits)
    assert reader_of(OBJECTS).getDefaultReadLimit() == "all"
    assert reader_of(OBJECTS, max_entries_per_batch="9").getDefaultReadLimit() == 9


def test_what_no_stream_can_promise_is_refused() -> None:
    with pytest.raises(UsageError, match="visible=compacted"):
        reader_of(OBJECTS, visible="compacted")
    options = SparkOptions.of({"path": str(OBJECTS)})
    gone = BacklogStreamReader(options, ["ledger_id"])
    with pytest.raises(UsageError, match="ledger 999999"):
        gone.partitions({"ledgers": {}}, {"ledgers": {"999999": 3}})


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    before = spark.conf.get("spark.sql.python.filterPushdown.enabled", "false")
    pulsar_backlog.register(spark)
    yield spark
    spark.conf.set("spark.sql.python.filterPushdown.enabled", str(before))


def test_spark_streams_entries(session: SparkSession, tmp_path: Path) -> None:
    rows = session.readStream.format("pulsar-backlog").option("rows", "entries").load(str(OBJECTS))
    query = rows.select("ledger_id", "entry_id").writeStream.format("delta").trigger(availableNow=True)
    query.option("checkpointLocation", str(tmp_path / "checkpoint")).start(str(tmp_path / "out")).awaitTermination()
    names = ["ledger_id", "entry_id"]
    expected = pulsar_backlog.open(str(OBJECTS)).entries(columns=names).read_all().to_pylist()
    found = DeltaTable(tmp_path / "out").to_pyarrow_table().to_pylist()
    assert sorted(found, key=str) == sorted(expected, key=str)


MOMENTS = ("out.begun", "checkpoint/offsets/[0-9]*", "out/*.parquet", "out/_delta_log/*.json")
"""Files that appear one after the other: the query starts; a batch is planned; it is read; it is in the table.

Last of all the batch is noted in `checkpoint/commits`.
"""
ATTEMPTS = 4


def test_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    """Killed at each of the moments, with ledgers that are new at each; then undisturbed runs."""
    folder = tmp_path / "objects"
    late = move_ledgers(OBJECTS, folder)
    stream = Stream(folder, tmp_path)
    for number, moment in enumerate(MOMENTS):
        for attempt in range(ATTEMPTS):
            for path in late[number * ATTEMPTS + attempt :: len(MOMENTS) * ATTEMPTS]:
                shutil.copy(path, tmp_path / "coming")
                (tmp_path / "coming").rename(folder / path.name)  # whole, as objects of a bucket appear
            if stream.killed_at(moment) and not (moment != "out.begun" and stream.is_noted):
                break
        else:
            pytest.fail(f"no run was killed at {moment}")
    for path in late:
        shutil.copy(path, folder)
    endings = [stream.run() for _ in range(2)]  # a second one finds nothing new
    assert endings == [0, 0]
    table = DeltaTable(tmp_path / "out")
    assert table.version() >= 1  # the batch that kills interrupted, and what came after it
    assert keys_of(table.to_pyarrow_table(columns=list(KEY))) == stored(OBJECTS)


class Stream:
    """A stream into a Delta table, each time in a process of its own."""

    def __init__(self, source: Path, home: Path) -> None:
        self._home = home
        places = (source, home / "out", home / "checkpoint")
        self._command = [sys.executable, "-m", "tests.api.spark_stream_job", *map(str, places)]
        self._environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "lib"), str(ROOT)])}

    @property
    def is_noted(self) -> bool:
        """Whether the last batch that was planned is noted as done."""
        planned, done = (
            {int(path.name) for path in (self._home / "checkpoint" / name).glob("[0-9]*")}
            for name in ("offsets", "commits")
        )
        return planned <= done

    def killed_at(self, moment: str) -> bool:
        """Run until a new file appears, and kill; False where it ended before, on a machine that is too busy."""
        (self._home / "out.begun").unlink(missing_ok=True)
        before = set(self._home.glob(moment))
        process = subprocess.Popen(self._command, cwd=ROOT, env=self._environment, start_new_session=True)
        try:
            deadline = time.monotonic() + 300
            while process.poll() is None and time.monotonic() < deadline:
                if not before.issuperset(self._home.glob(moment)):
                    break
                time.sleep(0.002)
            return process.poll() is None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def run(self) -> int:
        """Run to the end; once more where the machine was too busy to start Spark's workers in time."""
        for _ in range(ATTEMPTS):
            done = subprocess.run(
                self._command, cwd=ROOT, env=self._environment, capture_output=True, text=True, check=False, timeout=900
            )
            if not done.returncode or "failed to connect back" not in done.stderr:
                break
        return done.returncode
