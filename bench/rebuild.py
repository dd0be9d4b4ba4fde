"""Rebuilding chunked messages, next to the plain way (groupBy and collect_list of payloads) and to a copy; the fold.

    python -m bench.rebuild [--quick]

The plain way is what one writes in an afternoon: every payload a row, grouped by uuid, collected, sorted, joined. Both
ways give payload and SHA-256 of each message to Spark's noop sink, and their hashes are compared. The copy reads and
writes the same bytes with two processes; next to it rebuilding writes each message as a file named by its hash. New
files are new memory first, and what that costs is the machine's affair: on a virtual one two processes that do nothing
but copy 4 GiB took between 1.2 and 20 s.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from bench import baseline_pyspark
from bench.generate import Spec
from bench.measuring import core_ratio, interleaved, median_ratio
from bench.scorecard import Goal, Scorecard
from bench.subjects import Backlog, to_nothing
from pulsar_backlog.chunks.rows import LogEdge
from pulsar_backlog.frames.chunks.fold import FoldContext, fold_batches, tables_of
from pulsar_backlog.frames.export.filters import Filters
from pulsar_backlog.frames.export.messages import exported_chunked
from pulsar_backlog.frames.export.plan import plan_chunked
from pulsar_backlog.frames.export.tasks import pack
from pulsar_backlog.frames.log.transactions import with_transactions
from pulsar_backlog.jobfiles import load_job
from pulsar_backlog.messages.entry_rows import ExportContext
from pulsar_backlog.messages.keys import KeySource
from pulsar_backlog.messages.payloads import PayloadStore
from pulsar_backlog.options import Options
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.runs import now
from pulsar_backlog.spark.session import start_session
from pulsar_backlog.sql.engines import spark_engine
from pulsar_backlog.sql.task_rows import via_shuffle
from pulsar_backlog.steps.chunk_rows import fold_rows, name_chunk_entries
from pulsar_backlog.tableio.store import TableStore
from pulsar_backlog.tables import TABLES
from pulsar_backlog.wire.entry import decode_entry

CLUSTER = "bench"
COPY_BYTES = 8 * 1024 * 1024
INLINE_BYTES = 64 * 1024 * 1024
REST_SECONDS = 30
"""By then a virtual machine that gives memory back has given back nearly all of it."""
REBUILD = Spec(2048, entry_bytes=1 << 20, ledgers=2, chunk_share=1.0, chunks=8)
"""Brokers take 5 MiB unless told otherwise, so real chunks are large ones."""
COPY = replace(REBUILD, entries=2 * REBUILD.entries)
"""Twice as much, for a copy needs no plan: a second before the first byte is read, whatever the size."""
FOLD = Spec(1_000_000, entry_bytes=100, ledgers=2, chunk_share=1.0, chunks=10)


def audited(backlog: Backlog, out: Path) -> None:
    """The tables that rebuilding plans from."""
    for job in ("inventory_ledgers", "scan_entries", "assemble_chunks"):
        code = load_job(job).main(
            ["--source", str(backlog.folder), "--out", str(out), "--cluster", CLUSTER, "--fail-on", "never"]
        )
        if code not in (0, 99):
            raise RuntimeError(f"{job} ended with exit code {code}")
    start_session("bench")  # compiles its queries again, as the jobs above do not for so few entries


def rebuilt(spark: SparkSession, backlog: Backlog, out: Path, store: PayloadStore) -> DataFrame:
    """Our way, not run yet but for the sums of its bins."""
    tables = {
        name: TableStore(str(out), lambda: spark).frame(TABLES[name])
        for name in ("entries", "chunked_messages", "ledgers")
    }
    topics = {row["ledger_id"]: row["topic"] for row in tables["ledgers"].toLocalIterator()}
    context = ExportContext(CLUSTER, topics, backlog.source, KeySource(), store)
    filters = Filters()
    plan = plan_chunked(with_transactions(tables["entries"]), tables["chunked_messages"], filters)
    return exported_chunked(pack(plan, spark.sparkContext.defaultParallelism), context)


def collected(spark: SparkSession, backlog: Backlog) -> DataFrame:
    """The plain way, not run yet: uuid, payload, hash."""
    units = baseline_pyspark.find_units(backlog.folder)
    rows = spark.createDataFrame(
        spark.sparkContext.parallelize([(u.uri, u.offset, u.length) for u in units], len(units)),
        "uri string, offset long, length long",
    )
    schema = "uuid string, publish_time long, chunk_id int, payload binary"

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                with (backlog.folder / row["uri"]).open("rb") as file:
                    file.seek(row["offset"])
                    yield from _chunks(file.read(row["length"]))

    chunks = rows.mapInArrow(read, schema)
    parts = chunks.groupBy("uuid", "publish_time").agg(f.collect_list(f.struct("chunk_id", "payload")).alias("parts"))
    payload = f.aggregate(f.array_sort("parts"), f.lit(b""), lambda whole, part: f.concat(whole, part["payload"]))
    whole = parts.select("uuid", payload.alias("payload"))
    return whole.select("uuid", "payload", f.sha2("payload", 256).alias("payload_sha256"))


def _chunks(block: bytes) -> Iterator[pa.RecordBatch]:
    position, rows, held = 128, [], 0
    while position + 12 <= len(block):
        length = int.from_bytes(block[position : position + 4], signed=True)
        if length < 0:
            break
        entry = decode_entry(block[position + 12 : position + 12 + length])
        payload = block[position + 12 + entry.layout.payload_offset : position + 12 + length]
        metadata = entry.metadata
        rows.append((metadata.uuid, metadata.publish_time, metadata.chunk_id, payload))
        position += 12 + length
        held += length
        if held > COPY_BYTES:
            yield _batch(rows)
            rows, held = [], 0
    if rows:
        yield _batch(rows)


def _batch(rows: list[tuple[str | None, int, int | None, bytes]]) -> pa.RecordBatch:
    kinds = (pa.string(), pa.int64(), pa.int32(), pa.binary())
    names = ["uuid", "publish_time", "chunk_id", "payload"]
    columns = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), kinds, strict=True)]
    return pa.RecordBatch.from_arrays(columns, names=names)


def copy_file(paths: tuple[str, str]) -> None:
    """Read and write a file, a piece at a time."""
    with Path(paths[0]).open("rb") as source, Path(paths[1]).open("wb") as target:
        while piece := source.read(COPY_BYTES):
            target.write(piece)


def copied(backlog: Backlog, target: Path, workers: ProcessPoolExecutor) -> None:
    """Copy the data objects into a new folder."""
    target.mkdir(parents=True)
    names = [path.name for path in backlog.folder.glob("*-ledger-*") if not path.name.endswith("-index")]
    list(workers.map(copy_file, [(str(backlog.folder / name), str(target / name)) for name in names]))


def measure_rebuild(spark: SparkSession, backlog: Backlog, repetitions: int, card: Scorecard) -> None:
    """Ours against collect_list, into nothing."""
    out = backlog.folder / "out"
    audited(backlog, out)
    inline = PayloadStore(str(backlog.folder / "to"), INLINE_BYTES, 1 << 32)
    same = _hashes(rebuilt(spark, backlog, out, inline)) == _hashes(collected(spark, backlog))
    card.goals.append(Goal("rebuilt messages that differ from the plain way's", float(not same), "", at_most=0))
    timings = interleaved(
        {
            "rebuild": lambda: to_nothing(rebuilt(spark, backlog, out, inline)),
            "groupBy and collect_list": lambda: to_nothing(collected(spark, backlog)),
        },
        repetitions,
    )
    card.tell_rates(timings, backlog.data_bytes / 1e9, "GB/s")
    plain = timings["groupBy and collect_list"], timings["rebuild"]
    card.tell("rebuild, in core seconds", core_ratio(*plain), f"{core_ratio(*plain):.2f} x the plain way")
    card.goals.append(Goal("rebuild, against groupBy and collect_list", median_ratio(*plain), "x", at_least=3))


def measure_copy(spark: SparkSession, backlog: Backlog, repetitions: int, card: Scorecard) -> None:
    """Every message as a file named by its hash against a copy of the objects, on a rested machine and on a busy one.

    A virtual machine gives free memory back to its host, a part every two seconds, and to get it again costs more than
    the copy itself. A job that a scheduler starts finds the machine at rest; a copy right after another one of the same
    size writes into memory that is still there, and is up to ten times as fast.
    """
    out = backlog.folder / "out"
    audited(backlog, out)
    files = PayloadStore(str(backlog.folder / "to"), 0, 1 << 32)
    copy_folder = backlog.folder / "copy"

    def clear() -> None:
        for folder in (backlog.folder / "to", copy_folder):
            shutil.rmtree(folder, ignore_errors=True)

    def rested() -> None:
        clear()
        os.sync()
        time.sleep(REST_SECONDS)

    def busy() -> None:
        clear()
        copied(backlog, copy_folder, workers)
        clear()

    ratios = {}
    with ProcessPoolExecutor(2) as workers:
        for state, prepare in (("rested", rested), ("busy", busy)):
            timings = interleaved(
                {
                    f"rebuild into files, {state}": lambda: to_nothing(rebuilt(spark, backlog, out, files)),
                    f"copy, {state}": lambda: copied(backlog, copy_folder, workers),
                },
                repetitions,
                prepare=prepare,
            )
            card.tell_rates(timings, backlog.data_bytes / 1e9, "GB/s")
            rebuild, copy = timings.values()
            ratios[state] = median_ratio(copy, rebuild)
            card.tell(f"rebuild against a copy, {state}", ratios[state], f"{ratios[state]:.2f} x the copy")
    name = "rebuild into files, against a copy"
    card.goals.append(Goal(name, ratios["rested"], "x", at_least=0.5, portable=False))


def measure_fold(spark: SparkSession, backlog: Backlog, repetitions: int, card: Scorecard) -> None:
    """The fold alone, from chunk rows in memory to publications nobody keeps; and all the way from `noted_entries`."""
    out = backlog.folder / "out"
    audited(backlog, out)
    noted, producers = (
        TableStore(str(out), lambda: spark).frame(TABLES[name]) for name in ("noted_entries", "producer_facts")
    )
    edge = LogEdge(None, 0, {}, frozenset(), None, True, (), False, True, True)
    topics = [row["topic"] for row in noted.select("topic").distinct().collect()]
    context = FoldContext(CLUSTER, dict.fromkeys(topics, edge), backlog.source)
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions", "8") or 8)
    rows = backlog.entries / 1e6
    job = JobContext(lambda: spark, "bench", Options(out=str(out), cluster=CLUSTER), now())
    with spark_engine(job, {"noted_entries": noted, "producer_facts": producers}) as engine:
        engine.create_view("producers", engine.sql("log", "producers", {}))
        name_chunk_entries(engine)
        task_rows = fold_rows(engine)
        chunks = engine.frame(task_rows.query)

    def fold(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for folded in fold_batches(batches, context):
            yield from (batch for name, batch in tables_of(folded) if name == "chunked_messages")

    def folded(given: DataFrame) -> DataFrame:
        return via_shuffle(given, task_rows, partitions, fold, TABLES["chunked_messages"].ddl())

    whole_way = {"noted entries to publications": lambda: to_nothing(folded(chunks))}
    card.tell_rates(interleaved(whole_way, repetitions), rows, "M chunk rows/s")
    stored = chunks.persist(StorageLevel.MEMORY_ONLY)
    stored.count()
    timings = interleaved({"fold": lambda: to_nothing(folded(stored))}, repetitions)
    stored.unpersist()
    card.tell_rates(timings, rows, "M chunk rows/s")
    rate = rows / timings["fold"].median
    card.goals.append(Goal("fold of chunk rows", rate, "M rows/s", at_least=0.3, portable=False))


def _hashes(messages: DataFrame) -> tuple[int, object]:
    first = messages.agg(f.count("*"), f.sum(f.xxhash64("payload_sha256").cast("decimal(38,0)"))).first()
    return (0, None) if first is None else (first[0], first[1])


def main(argv: list[str]) -> int:
    """Only what this module measures."""
    from bench.run import generated  # noqa: PLC0415 - bench.run imports this module

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the size")
    part = 10 if parser.parse_args(argv).quick else 1
    card = Scorecard()
    spark = start_session("bench")
    with generated("chunked messages", replace(REBUILD, entries=REBUILD.entries // part)) as backlog:
        measure_rebuild(spark, backlog, 3, card)
    with generated("messages and a copy", replace(COPY, entries=COPY.entries // part)) as backlog:
        measure_copy(spark, backlog, 3, card)
    with generated("chunk rows", replace(FOLD, entries=FOLD.entries // part)) as backlog:
        measure_fold(spark, backlog, 3, card)
    print(card.table())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
