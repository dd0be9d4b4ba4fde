"""Two clusters compared by digests that are there already: seconds with few differences, bytes read with none.

    python -m bench.comparison --messages 100000000 --folder /tmp/digests     # the folder is kept, some 9 GB

Both sides hold the same messages, a thousand a second of one producer, in ledgers that end at other places. Side B
lacks some, holds some twice, and others with other content. The tables are those that `compare` writes; that origin and
content are numbers in place of hashes of something is all that is not real.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from deltalake import write_deltalake

from bench.scorecard import Goal, Scorecard
from pulsar_backlog.facts.digest import mixed
from pulsar_backlog.ledgers.values import PlannedCopy
from pulsar_backlog.options import Options
from pulsar_backlog.replicas.buckets import of_ledger
from pulsar_backlog.replicas.digests import DIGEST_VERSION
from pulsar_backlog.sql.audited_side import AuditedSide
from pulsar_backlog.sql.digests import digests_in
from pulsar_backlog.steps.cluster_comparison import Comparison, TopicPair
from pulsar_backlog.tableio.delta_actions import statistics_settings
from pulsar_backlog.tables import TABLES
from pulsar_backlog.tables.arrow import arrow_schema

CLUSTER, TOPIC, PRODUCER = "bench", "persistent://bench/compare/orders", "bench-1"
START_MS = 1_763_000_000_000
LEDGER_MESSAGES = {"a": 500_000, "b": 410_000}
"""How many messages a ledger has on each side."""
LEDGERS_OF_FILE = 10
DIFFERENCES = 10
GOAL_MESSAGES, GOAL_SECONDS, GOAL_KILOBYTES = 100_000_000, 20, 100
KINDS = ("missing", "duplicate", "content")

Int64s = npt.NDArray[np.int64]


def planted(messages: int, differences: int = DIFFERENCES) -> dict[int, str]:
    """What is wrong on side B, by number of the message; never the first or last."""
    places = np.linspace(0, messages, differences + 2).astype(np.int64)[1:-1]
    return {int(number): KINDS[at % len(KINDS)] for at, number in enumerate(places)}


def make_digests(folder: Path, messages: int) -> None:
    """Write digests of both sides into `folder/few`, and buckets of sides that are equal into `folder/none`."""
    for side in ("a", "b"):
        deeds = planted(messages) if side == "b" else {}
        tables: dict[str, list[pa.Table]] = {"message_digests": [], "digest_buckets": [], "equal": []}
        books = []
        for number, first in enumerate(range(0, messages, LEDGER_MESSAGES[side])):
            end = min(first + LEDGER_MESSAGES[side], messages)
            of_here = {at: deeds[at] for at in deeds if first <= at < end}
            rows = _ledger(side, number, np.arange(first, end), of_here)
            buckets = list(map(_as_table, of_ledger(rows)))
            plain = map(_as_table, of_ledger(_ledger(side, number, np.arange(first, end), {}))) if of_here else buckets
            tables["message_digests"].append(rows)
            tables["digest_buckets"] += buckets
            tables["equal"] += plain
            books.append(_book(side, number, rows.num_rows))
            if number % LEDGERS_OF_FILE == LEDGERS_OF_FILE - 1:
                _write(folder / "few", "message_digests", tables["message_digests"])
                tables["message_digests"] = []
        _write(folder / "few", "message_digests", tables["message_digests"])
        _write(folder / "few", "digest_buckets", tables["digest_buckets"])
        _write(folder / "none", "digest_buckets", tables["equal"])
        schema = arrow_schema(TABLES["digest_ledgers"])
        for name in ("few", "none"):
            _write(folder / name, "digest_ledgers", [pa.Table.from_pylist(books, schema=schema)])
    (folder / "messages.json").write_text(json.dumps(messages))


def _ledger(side: str, ledger_id: int, numbers: Int64s, deeds: dict[int, str]) -> pa.Table:
    """Rows of `message_digests` of one ledger, with what is planted there."""
    lacking = [at for at, deed in deeds.items() if deed == "missing"]
    again = [at for at, deed in deeds.items() if deed == "duplicate"]
    numbers = np.sort(np.concatenate((numbers[~np.isin(numbers, lacking)], np.array(again, dtype=np.int64))))
    origin = mixed(numbers.astype(np.uint64))
    content = mixed(origin + np.uint64(1))
    content[np.isin(numbers, [at for at, deed in deeds.items() if deed == "content"])] += np.uint64(1)
    rows = len(numbers)
    columns = {
        "ledger_id": np.full(rows, ledger_id), "entry_id": np.arange(rows), "batch_index": np.full(rows, -1),
        "sequence_id": numbers, "publish_time_ms": START_MS + numbers, "broker_time_ms": START_MS + numbers + 3,
        "payload_bytes": np.full(rows, 1000), "payload_crc32c": (content & np.uint64(0xFFFFFFFF)).view(np.int64),
        "origin": origin.view(np.int64), "content": content.view(np.int64), "ordinal": np.zeros(rows),
    }  # fmt: skip
    texts = {"cluster": CLUSTER, "side": side, "topic": TOPIC, "producer_name": PRODUCER, "outcome": "exported"}
    texts |= {"replicated_from": "eu"} if side == "b" else {}
    flags = {"verified": True, "is_repair": False}
    schema = arrow_schema(TABLES["message_digests"])
    arrays = []
    for field in schema:
        if field.name in columns:
            arrays.append(pa.array(columns[field.name]).cast(field.type))
        else:
            arrays.append(pa.repeat(pa.scalar({**texts, **flags}.get(field.name), field.type), rows))
    return pa.Table.from_arrays(arrays, schema=schema)


def _as_table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])


def _book(side: str, ledger_id: int, messages: int) -> dict[str, object]:
    return {
        "cluster": CLUSTER, "side": side, "topic": TOPIC, "ledger_id": ledger_id, "source": side, "copy": "bench",
        "messages": messages, "unreadable": 0, "unopened": 0, "complete": True, "digest_version": DIGEST_VERSION,
    }  # fmt: skip


def _write(out: Path, name: str, parts: list[pa.Table]) -> None:
    if parts:
        table = TABLES[name]
        rows = pa.concat_tables(parts)
        write_deltalake(out / "tables" / name, rows, mode="append", configuration=statistics_settings(table))


def _side(side: str, messages: int) -> AuditedSide:
    ledgers = range(-(-messages // LEDGER_MESSAGES[side]))
    copies = [PlannedCopy(TOPIC, one, "bench", "jcloud", None, None, 1, None, None, None, ()) for one in ledgers]
    return AuditedSide(side, CLUSTER, side, Options(), copies, [], [], [], [])


def compare(folder: Path, name: str) -> dict[str, object]:
    """Compare the sides in `folder/name`, as `compare` does once their digests are there."""
    messages = json.loads((folder / "messages.json").read_text())
    began, used = time.perf_counter(), time.process_time()
    with digests_in(str(folder / name), CLUSTER) as digests:
        sides = _side("a", messages), _side("b", messages)
        (compared,) = Comparison(digests, *sides, CLUSTER).topics([TopicPair(TOPIC, TOPIC)])
        read = dict(digests.read)
    rows = compared.differences.select(["kind", "sequence_id", "sureness"]).to_pylist()
    return {
        "seconds": time.perf_counter() - began, "core_seconds": time.process_time() - used, "read_bytes": read,
        "verdict": compared.row["verdict"], "differences": [list(row.values()) for row in rows],
    }  # fmt: skip


def _apart(folder: Path, name: str) -> dict[str, object]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "bench.comparison", "--folder", str(folder), "--compare", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - ours
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def measure(folder: Path, card: Scorecard) -> None:
    """The lines of the scorecard."""
    messages = json.loads((folder / "messages.json").read_text())
    few, none = _apart(folder, "few"), _apart(folder, "none")
    found = Counter((kind, number) for kind, number, _ in few["differences"])  # type: ignore[attr-defined]
    wrong = found - Counter(planted_differences := Counter((deed, at) for at, deed in planted(messages).items()))
    wrong += planted_differences - found
    equal_bytes = sum(none["read_bytes"].values())  # type: ignore[attr-defined]
    name = f"comparison of {messages:,} messages, {DIFFERENCES} differ"
    card.tell(name, few, f"{few['seconds']:.1f} s ({few['core_seconds']:.1f} core s), read {few['read_bytes']} bytes")
    card.tell("the same, equal", none, f"{none['seconds']:.2f} s, read {equal_bytes:,} bytes of digests")
    card.goals += [
        Goal("comparison: differences not found, or invented", sum(wrong.values()), "", at_most=0),
        Goal("comparison: bytes of digests read where all is equal", equal_bytes / 1e3, "kB", at_most=GOAL_KILOBYTES),
    ]
    if messages >= GOAL_MESSAGES:
        seconds = few["seconds"]
        card.goals.append(Goal(name, seconds, "s", at_most=GOAL_SECONDS, portable=False))  # type: ignore[arg-type]


def measure_comparison(messages: int, card: Scorecard) -> None:
    """Make digests of so many messages on each side, and compare them."""
    with tempfile.TemporaryDirectory(prefix="pulsar-backlog-digests-") as folder:
        make_digests(Path(folder), messages)
        measure(Path(folder), card)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.comparison", description=__doc__)
    parser.add_argument("--messages", type=int, default=GOAL_MESSAGES, help="on each side")
    parser.add_argument("--folder", type=Path, required=True, help="where digests are made, or are already")
    parser.add_argument("--compare", choices=("few", "none"), help=argparse.SUPPRESS)
    return parser


def _lines(card: Scorecard) -> Iterator[str]:
    yield card.table()
    yield f"load {os.getloadavg()[0]:.1f}"


def main(argv: list[str]) -> int:
    """Make digests unless they are there, compare, print what it took."""
    options = _parser().parse_args(argv)
    if options.compare:
        print(json.dumps(compare(options.folder, options.compare)))
        return 0
    if not (options.folder / "messages.json").exists():
        make_digests(options.folder, options.messages)
    card = Scorecard()
    measure(options.folder, card)
    print("\n".join(_lines(card)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
