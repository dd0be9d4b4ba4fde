"""`make bench`: speed as ratios, measured side by side in one run on backlogs generated for it."""

from __future__ import annotations

import argparse
import math
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from unittest.mock import patch

from pyspark.sql import SparkSession

from bench import answers, baseline_crc, subjects
from bench.audit_twice import audit_twice
from bench.buckets import OBJECT_BYTES, measure_buckets
from bench.cluster import measure_cluster
from bench.comparison import GOAL_MESSAGES, measure_comparison
from bench.costs import core_us_per_entry
from bench.data_source import CREDENTIALS, measure_hour, measure_rows
from bench.entry_logs import ENTRY_LOGS, measure_entry_logs
from bench.floor import FLOOR, measure_floor
from bench.generate import Spec, write_backlog
from bench.growth import GROWTH, Growth, measure_growth, measure_many
from bench.inventory import GOAL_LEDGERS, measure_inventory
from bench.mapfiles import MAP_FILES, measure_map_files
from bench.measuring import Timing, WorkerMemory, core_ratio, interleaved, machine, median_ratio, warm_up
from bench.models import measure_models
from bench.rebuild import COPY, FOLD, REBUILD, measure_copy, measure_fold, measure_rebuild
from bench.scorecard import Goal, Scorecard
from bench.subjects import Backlog
from bench.typed import measure_typed
from bench.whole_audit import measure_whole_audit
from pulsar_backlog.spark.session import start_session
from pulsar_backlog.tables.arrow import arrow_schema
from pulsar_backlog.tables.entries import TABLE

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "bench-data"
RESULT = ROOT / "build" / "bench.json"
CRC_PROCESSES = 2


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    repetitions: int
    small: Spec
    large: Spec
    wide: Spec
    same: Spec
    audit: Spec
    chunk_rows: int
    rebuild: Spec
    copy: Spec
    fold: Spec
    map_files: Spec
    entry_logs: Spec
    answers: Spec
    growth: Growth
    floor: Spec
    inventory_ledgers: int
    bucket_bytes: int
    compared_messages: int
    rows: Spec
    day_entries: int
    typed_messages: int


FULL = Size(
    repetitions=3,
    small=Spec(1_000_000, ledgers=4),
    large=Spec(60_000, entry_bytes=100_000, chunk_share=0.2),
    wide=Spec(600_000, block_bytes=1 << 30),
    same=Spec(30_000, ledgers=2, chunk_share=0.2, properties=3),
    audit=Spec(200_000, ledgers=4),
    chunk_rows=2_000_000,
    rebuild=REBUILD,
    copy=COPY,
    fold=FOLD,
    map_files=MAP_FILES,
    entry_logs=ENTRY_LOGS,
    answers=answers.LARGE,
    growth=GROWTH,
    floor=replace(FLOOR, entries=4 * FLOOR.entries),
    inventory_ledgers=GOAL_LEDGERS,
    bucket_bytes=OBJECT_BYTES,
    compared_messages=GOAL_MESSAGES,
    rows=Spec(1_000_000, ledgers=4),
    day_entries=120_000,
    typed_messages=1_000_000,
)
QUICK = Size(
    repetitions=2,
    small=Spec(150_000, ledgers=2),
    large=Spec(5_000, entry_bytes=100_000, chunk_share=0.2),
    wide=Spec(200_000, block_bytes=1 << 30),
    same=Spec(5_000, ledgers=2, chunk_share=0.2, properties=3),
    audit=Spec(20_000, ledgers=2),
    chunk_rows=200_000,
    rebuild=replace(REBUILD, entries=REBUILD.entries // 10),
    copy=replace(COPY, entries=COPY.entries // 10),
    fold=replace(FOLD, entries=FOLD.entries // 10),
    map_files=replace(MAP_FILES, entries=MAP_FILES.entries // 10),
    entry_logs=replace(ENTRY_LOGS, entries=ENTRY_LOGS.entries // 10),
    answers=replace(answers.LARGE, entries=answers.LARGE.entries // 10),
    growth=GROWTH.smaller(20),
    floor=FLOOR,
    inventory_ledgers=GOAL_LEDGERS // 4,
    bucket_bytes=OBJECT_BYTES // 4,
    compared_messages=GOAL_MESSAGES // 50,
    rows=Spec(150_000, ledgers=2),
    day_entries=120_000,
    typed_messages=60_000,
)


@contextmanager
def generated(name: str, spec: Spec) -> Iterator[Backlog]:
    """A backlog in a folder of its own, which goes away afterwards. Writing it leaves it in the page cache."""
    folder = DATA / name.replace(" ", "-")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        written = write_backlog(spec, folder)
        gib = written.data_bytes / 2**30
        print(f"\n{name}: {written.entries:,} entries, {gib:.2f} GiB, {spec.ledgers} ledgers", flush=True)
        yield Backlog(folder, written.entries, written.data_bytes)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure_memory(spark: SparkSession, backlog: Backlog, what: str, card: Scorecard) -> None:
    """Peak memory of one worker while it scans."""
    with WorkerMemory() as memory:
        subjects.to_nothing(subjects.scan(spark, backlog))
    together = memory.together_bytes / 2**30
    card.tell(f"workers together, {what}", together, f"{together:.2f} GiB (shared pages counted to each)")
    card.goals.append(Goal(f"memory of a worker, {what}", memory.largest_bytes / 2**30, "GiB", at_most=1.0))


def check_same_rows(spark: SparkSession, backlog: Backlog, card: Scorecard) -> None:
    """Compare the tables of both ways row by row."""
    ours, plain = (subjects.empty_table(spark, str(backlog.folder / "out" / n)) for n in ("ours", "plain"))
    subjects.write_ours(spark, backlog, ours)
    subjects.write_plain(spark, backlog, plain)
    rows, differing = subjects.digest(spark, ours)[0], subjects.differing_rows(spark, ours, plain)
    missing = backlog.entries - rows
    card.tell("rows compared", rows, f"{rows:,} by full join, {differing} differ, {missing} missing")
    card.goals.append(Goal("rows that differ from the plain scan's", differing + abs(missing), "rows", at_most=0))


def measure_small(spark: SparkSession, backlog: Backlog, repetitions: int, card: Scorecard) -> None:
    """1 KB entries: into nothing, and into Delta next to the plain way."""
    entries = backlog.entries / 1e6

    def scan_alone() -> None:
        subjects.to_nothing(subjects.scan(spark, backlog))

    times = warm_up(scan_alone)
    card.tell("repetitions until the session was warm", times, str(times))
    noop = interleaved({"scan alone": scan_alone}, repetitions)
    card.tell_rates(noop, entries, "M entries/s")
    alone = noop["scan alone"]
    ours, by_spark, plain = time_delta(spark, backlog, repetitions, card)
    costs = core_us_per_entry(backlog, ours)
    card.tell("core us per entry", costs, ", ".join(f"{step} {cost:.2f}" for step, cost in costs.items()))
    ratio = core_ratio(plain, ours)
    card.tell("plain way in core seconds", ratio, f"{ratio:.2f} x (for a machine that is busy otherwise)")
    ratio = median_ratio(plain, by_spark)
    card.tell("plain way, both by Spark's writer", ratio, f"{ratio:.2f} x (how it is where tasks cannot write files)")
    rate = "M entries/s"
    card.goals += [
        Goal("1 KB entries into Delta, against the plain way", median_ratio(plain, ours), "x", at_least=8),
        Goal("1 KB entries into Delta", entries / ours.median, rate, at_least=0.2, portable=False),
        Goal("1 KB entries, scan alone", entries / alone.median, rate, at_least=0.6, portable=False),
    ]


def time_delta(
    spark: SparkSession, backlog: Backlog, repetitions: int, card: Scorecard
) -> tuple[Timing, Timing, Timing]:
    """Our scan, as it is and by Spark's writer, and the plain one, each into a fresh table, and whether all agree."""
    out = backlog.folder / "out"
    subjects.write_ours(spark, backlog, subjects.empty_table(spark, str(out / "warm-up")))
    tables = [subjects.empty_table(spark, str(out / str(number))) for number in range(3 * repetitions)]
    waiting = iter(tables)
    timings = interleaved(
        {
            "scan into Delta": lambda: subjects.write_ours(spark, backlog, next(waiting)),
            "scan into Delta by Spark's writer": lambda: subjects.write_by_spark(spark, backlog, next(waiting)),
            "plain way into Delta": lambda: subjects.write_plain(spark, backlog, next(waiting)),
        },
        repetitions,
    )
    card.tell_rates(timings, backlog.entries / 1e6, "M entries/s")
    same = len({subjects.digest(spark, table) for table in tables[-3:]}) == 1
    card.tell("digests of the tables", same, "equal" if same else "DIFFERENT")
    card.goals.append(Goal("digests of the tables that differ", float(not same), "", at_most=0))
    return (
        timings["scan into Delta"],
        timings["scan into Delta by Spark's writer"],
        timings["plain way into Delta"],
    )


def measure_large(spark: SparkSession, backlog: Backlog, repetitions: int, card: Scorecard) -> None:
    """100 KB entries, next to reading and summing the same files."""
    gigabytes = backlog.data_bytes / 1e9
    outs = iter([subjects.empty_table(spark, str(DATA / "large-out" / str(n))) for n in range(repetitions)])
    with baseline_crc.pool(CRC_PROCESSES) as workers:
        baseline_crc.bytes_per_second(backlog.folder, workers)
        timings = interleaved(
            {
                "CRC of the files": lambda: baseline_crc.bytes_per_second(backlog.folder, workers),
                "large scan alone": lambda: subjects.to_nothing(subjects.scan(spark, backlog)),
                "large scan into Delta": lambda: subjects.write_ours(spark, backlog, next(outs)),
            },
            repetitions,
        )
    shutil.rmtree(DATA / "large-out")
    card.tell_rates(timings, gigabytes, "GB/s")
    crc = timings["CRC of the files"]
    alone, delta = (median_ratio(crc, timings[f"large scan {how}"]) for how in ("alone", "into Delta"))
    third = 1 / 3
    card.goals += [
        Goal("100 KB entries, scan alone, against CRC of the files", alone, "x", at_least=third),
        # Delta's commit takes a second or two whatever the size, so this one depends on how much is scanned.
        Goal("100 KB entries into Delta, against CRC of the files", delta, "x", at_least=third, portable=False),
    ]


def measure_audit(backlog: Backlog, repetitions: int, card: Scorecard) -> None:
    """The second audit of a folder that did not change."""
    out = DATA / "audit-out"
    shutil.rmtree(out, ignore_errors=True)
    over, rescans = math.nan, math.nan
    try:
        audit = audit_twice(backlog.folder, out, repetitions)
    except RuntimeError as error:  # must not cost the figures that took minutes to measure
        card.tell("second audit", None, f"could not be measured: {error}")
    else:
        over, rescans = audit.over_start_seconds, float(audit.rescanned)
        card.tell(
            "audits",
            asdict(audit),
            f"first {audit.first_seconds:.1f} s, second {audit.second_seconds:.1f} s, "
            f"Spark's start alone {audit.start_seconds:.1f} s",
        )
    shutil.rmtree(out, ignore_errors=True)
    card.goals += [
        Goal("second audit, over Spark's start", over, "s", at_most=10, portable=False),
        Goal("second audit, writes to entries", rescans, "", at_most=0),
    ]


def measure_answers(size: Size, card: Scorecard) -> None:
    """What a person waits for who asks one thing."""
    folder = DATA / "answers"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        small, many = answers.make_audits(folder, size.answers)
        answers.measure_answers(small, many, size.repetitions, card)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure_scans(size: Size, card: Scorecard) -> None:
    """What one session does. Memory comes first, while the workers have run nothing but our scan."""
    spark = start_session("bench")
    with generated("wide blocks", size.wide) as wide:
        measure_memory(spark, wide, "one block of the whole ledger", card)
    with generated("1 KB entries", size.small) as small:
        measure_memory(spark, small, "1 KB entries", card)
        with generated("same rows", size.same) as same:
            check_same_rows(spark, same, card)
        measure_small(spark, small, size.repetitions, card)
    with generated("100 KB entries", size.large) as large:
        measure_large(spark, large, size.repetitions, card)
    measure_models(spark, size.chunk_rows, size.repetitions, card)
    with generated("chunked messages", size.rebuild) as backlog:
        measure_rebuild(spark, backlog, size.repetitions, card)
    with generated("messages and a copy", size.copy) as backlog:
        measure_copy(spark, backlog, size.repetitions, card)
    with generated("chunk rows", size.fold) as backlog:
        measure_fold(spark, backlog, size.repetitions, card)
    spark.stop()


def measure_kinds(size: Size, card: Scorecard) -> None:
    """MapFiles and entry logs."""
    with generated("MapFiles", size.map_files) as backlog:
        measure_map_files(backlog, arrow_schema(TABLE), size.repetitions, card)
    with generated("entry logs", size.entry_logs) as backlog:
        measure_entry_logs(backlog, arrow_schema(TABLE), size.repetitions, card)


def measure_data_source(size: Size, card: Scorecard) -> None:
    """Rows by Spark's data source."""
    with patch.dict(os.environ, CREDENTIALS):  # Spark's workers have the environment that Java began with
        spark = start_session("bench")
        with generated("rows of entries", size.rows) as backlog:
            measure_rows(spark, backlog, size.repetitions, card)
        measure_hour(spark, size.day_entries, card)
        measure_typed(spark, size.typed_messages, size.repetitions, card)
        spark.stop()


def measure_audits(size: Size, card: Scorecard) -> None:
    """Whole audits, twice and side by side with what they are compared with."""
    with generated("audit", size.audit) as backlog:
        measure_audit(backlog, size.repetitions, card)
    measure_whole_audit(size.repetitions, card)


def measure_many_entries(size: Size, card: Scorecard) -> None:
    """How an audit's costs grow."""
    measure_growth(size.growth, card)
    measure_many(size.growth, card)


PARTS: dict[str, Callable[[Size, Scorecard], None]] = {
    "scans": measure_scans,
    "kinds": measure_kinds,
    "data-source": measure_data_source,
    "audits": measure_audits,
    "buckets": lambda size, card: measure_buckets(size.bucket_bytes, size.repetitions, card),
    "cluster": lambda size, card: measure_cluster(size is QUICK, card),
    "inventory": lambda size, card: measure_inventory(size.inventory_ledgers, card),
    "answers": measure_answers,
    "growth": measure_many_entries,
    "comparison": lambda size, card: measure_comparison(size.compared_messages, card),
    "floor": lambda size, card: measure_floor(size.floor, size.repetitions, card),
}
"""What can be measured alone, in the order in which all of it is."""


def arg_parser() -> argparse.ArgumentParser:
    """Options."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller backlogs, two repetitions: a smoke test")
    parser.add_argument("--only", choices=PARTS, action="append", help="this part alone; may be repeated")
    parser.add_argument("--check", action="store_true", help="exit 1 when a goal that holds anywhere is missed")
    parser.add_argument("--json", type=Path, default=RESULT, help="where the figures go (build/bench.json)")
    return parser


def main(argv: list[str]) -> int:
    """Measure, print the table, and judge it when asked to."""
    options = arg_parser().parse_args(argv)
    size = QUICK if options.quick else FULL
    card = Scorecard()
    print(f"Medians of {size.repetitions} interleaved repetitions, warm session, files in the page cache.")
    for name, value in machine().items():
        card.tell(name, value, str(value))
    card.details["sizes"] = asdict(size)
    for name in options.only or PARTS:
        PARTS[name](size, card)
    card.write(options.json)
    print(f"\n{card.table()}\n\nAlso in {options.json}.")
    return 1 if options.check and any(goal.portable and not goal.met for goal in card.goals) else 0
