"""The inventory of a place of very many ledgers: seconds, and the memory of driver and JVM.

    python -m bench.inventory --ledgers 500000 --folder /tmp/many     # a million objects; the folder is kept

Objects are sparse: an index is whole, its data object has the size that the index promises and nothing in it, as nobody
reads data for an inventory. Of 100 ledgers the broker lacks the last; of 50, one has an earlier attempt without index;
of 200, one is known to the metadata only.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from bench.generate import BLOCK_HEADER_BYTES, index_object, ledger_metadata
from bench.measuring import below, processes, resident_bytes
from bench.scorecard import Goal, Scorecard

LEDGERS_OF_TOPIC = 500
ENTRIES, ENTRY_BYTES = 1000, 1024
DATA_BYTES = BLOCK_HEADER_BYTES + ENTRIES * (12 + ENTRY_BYTES)
FIRST_LEDGER = 1000
SAMPLE_SECONDS = 0.1
GOAL_LEDGERS, GOAL_SECONDS = 100_000, 120


@dataclass(frozen=True)
class Taken:
    """What an inventory took; memory is the most that was resident at one time."""

    seconds: float
    driver_bytes: int
    jvm_bytes: int
    workers_bytes: int
    rows: dict[str, int]


def make_place(folder: Path, ledgers: int) -> None:
    """Write objects and admin JSON of so many ledgers into `folder/objects` and `folder/admin`."""
    objects, admin = folder / "objects", folder / "admin"
    objects.mkdir(parents=True)
    admin.mkdir()
    for number in range(0, ledgers, LEDGERS_OF_TOPIC):
        _make_topic(objects, admin, number, min(LEDGERS_OF_TOPIC, ledgers - number))


def _make_topic(objects: Path, admin: Path, number: int, ledgers: int) -> None:
    name = f"orders-{number // LEDGERS_OF_TOPIC:06d}"
    metadata = ledger_metadata(ENTRIES * ENTRY_BYTES, ENTRIES, 1_700_000_000_000, name)
    index = index_object(DATA_BYTES, [(0, 0)], metadata)
    infos = []
    for ledger_id in range(FIRST_LEDGER + number, FIRST_LEDGER + number + ledgers):
        uuid = _uuid(ledger_id)
        if ledger_id % 200 != 13:
            if ledger_id % 50 == 7:
                _sparse(objects / f"{_uuid(-ledger_id)}-ledger-{ledger_id}")
            _sparse(objects / f"{uuid}-ledger-{ledger_id}")
            (objects / f"{uuid}-ledger-{ledger_id}-index").write_bytes(index)
        if ledger_id % 100 != 99:
            infos.append(_info(ledger_id, uuid))
    path = admin / f"bench__scan__{name}.internal-info.json"
    path.write_text(
        json.dumps({"version": 1, "creationDate": "", "modificationDate": "", "ledgers": infos, "cursors": {}})
    )


def _info(ledger_id: int, uuid: UUID) -> dict[str, object]:
    return {
        "ledgerId": ledger_id, "entries": ENTRIES, "size": ENTRIES * ENTRY_BYTES, "timestamp": 1_700_000_100_000,
        "isOffloaded": True, "offloadedContextUuid": str(uuid),
    }  # fmt: skip


def _uuid(number: int) -> UUID:
    """Spread as random ones are, and the same each time."""
    return UUID(int=number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % (1 << 128), version=4)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(DATA_BYTES)


def take(folder: Path) -> Taken:
    """Run the inventory of a place in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="inventory-", dir=folder) as out:
        command = [
            sys.executable, "-m", "jobs.inventory_ledgers", "--source", str(folder / "objects"),
            "--admin", str(folder / "admin"), "--out", out, "--cluster", "bench",
        ]  # fmt: skip
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603 - ours
        with process, _Memory(process.pid) as memory:
            process.wait()
        seconds = time.perf_counter() - began
        if process.returncode not in (0, 1, 4):
            raise RuntimeError(f"the inventory ended with {process.returncode}")
        return Taken(seconds, memory.driver, memory.jvm, memory.workers, dict(_rows(Path(out))))


def _rows(out: Path) -> Iterator[tuple[str, int]]:
    """Rows of the tables, as their logs count them."""
    for table in ("ledgers", "inventory", "findings"):
        rows = 0
        for log in sorted((out / "tables" / table / "_delta_log").glob("*.json")):
            actions = map(json.loads, log.read_text().splitlines())
            rows += sum(json.loads(one["add"]["stats"])["numRecords"] for one in actions if "add" in one)
        yield table, rows


class _Memory:
    """Samples what a process and those below it hold, while it is entered."""

    def __init__(self, root: int) -> None:
        self.driver = self.jvm = self.workers = 0
        self._root = root
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> _Memory:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(SAMPLE_SECONDS):
            self.driver = max(self.driver, resident_bytes(self._root))
            running = processes()
            names = {pid: running[pid].name for pid in below(self._root, running)}
            self.jvm = max([self.jvm, *(resident_bytes(pid) for pid, name in names.items() if name == "java")])
            workers = (resident_bytes(pid) for pid, name in names.items() if "python" in name)
            self.workers = max(self.workers, sum(workers))


def measure_inventory(ledgers: int, card: Scorecard) -> None:
    """The lines of the scorecard."""
    with tempfile.TemporaryDirectory(prefix="pulsar-backlog-many-") as folder:
        make_place(Path(folder), ledgers)
        taken = take(Path(folder))
    memory = f"driver {taken.driver_bytes >> 20:,} MiB, JVM {taken.jvm_bytes >> 20:,} MiB"
    card.tell(f"inventory of {ledgers:,} ledgers", taken.seconds, f"{taken.seconds:.1f} s ({memory})")
    if ledgers == GOAL_LEDGERS:
        card.goals.append(Goal(f"inventory of {ledgers:,} ledgers", taken.seconds, "s", at_most=GOAL_SECONDS))


def main(argv: list[str]) -> int:
    """Make a place unless it is there, take its inventory, print what it took."""
    parser = argparse.ArgumentParser(prog="python -m bench.inventory", description=__doc__)
    parser.add_argument("--ledgers", type=int, default=GOAL_LEDGERS)
    parser.add_argument("--folder", type=Path, required=True, help="where the place is made, or is already")
    options = parser.parse_args(argv)
    if not options.folder.exists():
        make_place(options.folder, options.ledgers)
    print(f"load {os.getloadavg()[0]:.1f}")
    print(take(options.folder))
    print(f"load {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
