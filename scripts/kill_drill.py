"""Kill drill: a pipeline killed with SIGKILL at random moments, started again until it ends, leaves undisturbed tables.

    python scripts/kill_drill.py SOURCE OUT --admin DIR --kills 100
    python scripts/kill_drill.py SOURCE s3a://BUCKET/PREFIX --program 'spark-submit ... conf/deploy/application.py'

An undisturbed run comes first; its `runs` say how long each job takes. Each round then begins in an empty place below
OUT. Kills are dealt out to all jobs in equal shares, each to a random moment of its job. Half of them hit all processes
at once (driver, JVM, Python workers), half only the one that was started: what it leaves behind may go on writing
beside the next run, which is started at once. After each kill it is even chances whether the next run is killed too.
When a run of a round has ended, all tables but `runs` are compared row by row, and the counts of result.json. Exit 1
when something differs, did not end as it should, or is left running. Linux only: it reads /proc.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from pulsar_backlog.errors import SourceError
from pulsar_backlog.tableio.beside import beside
from pulsar_backlog.tableio.bucket_readers import readers
from pulsar_backlog.tableio.delta_dataset import dataset
from pulsar_backlog.tableio.delta_rs import open_table, table_bucket
from pulsar_backlog.tableio.places import local_out
from pulsar_backlog.tables import TABLES
from pulsar_backlog.terms import EXIT_UNCHANGED
from scripts.compare_audits import NOT_COMPARED, SHOWN, say, texts_of

LABEL = re.compile(r"^\[\d+/\d+\] (\w+)$", re.MULTILINE)
"""What a pipeline writes when a job of it begins."""
POLL_SECONDS = 0.02
LIMIT_SECONDS = 4 * 3600
"""No run takes as long: one that does hangs."""
PATIENCE_SECONDS = 120
"""In which what a killed driver leaves behind must notice that."""


@dataclass(frozen=True)
class Kill:
    """When a run is to be killed: so many seconds after the job has begun; `whole`: all its processes."""

    job: str
    seconds: float
    whole: bool


@dataclass
class Drill:
    """What all rounds share, and what went wrong.

    Attributes:
        command: starts the pipeline, but for `--out`.
        scratch: a folder for what runs say, and for their temporary files.
        hits: kills by the job that was running.
        wrong: a sentence for each thing that went wrong.
        sessions: of runs that may have left processes behind.
    """

    command: list[str]
    scratch: Path
    hits: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    sessions: list[int] = field(default_factory=list)

    def run(self, out: str) -> int:
        """Run the pipeline; its exit code."""
        return self._end_of(self._started(out), out)

    def run_until(self, kill: Kill, out: str) -> int | None:
        """Run the pipeline and kill it; its exit code where it ends before that, else None."""
        began, process = time.monotonic(), self._started(out)
        if not self._is_reached(process, kill):
            return self._end_of(process, out)
        process.kill()
        process.wait()
        after = time.monotonic() - began
        if kill.whole:
            kill_session(process.pid)
        job = (self._begun() or ["start"])[-1]
        self.hits[job] += 1
        whom = "all processes" if kill.whole else "the first process only"
        say(f"  kill {self.hits.total()}: {job}, {after:.1f} s after the start, {whom}")
        return None

    @property
    def _log(self) -> Path:
        return self.scratch / "said"

    def _begun(self) -> list[str]:
        """The jobs of the last run that have begun."""
        return LABEL.findall(self._log.read_text(errors="replace"))

    def _started(self, out: str) -> subprocess.Popen[bytes]:
        place = {"TMPDIR": str(self.scratch), "SPARK_LOCAL_DIRS": str(self.scratch / "spark")}
        self._log.unlink(missing_ok=True)  # what a killed run leaves behind may still write to that of its own
        with self._log.open("wb") as said:
            process = subprocess.Popen(  # noqa: S603 - as its user asks, no shell
                [*self.command, "--out", out], stdout=said, stderr=subprocess.STDOUT, start_new_session=True,
                env=os.environ | place,
            )  # fmt: skip
        self.sessions.append(process.pid)
        return process

    def _is_reached(self, process: subprocess.Popen[bytes], kill: Kill) -> bool:
        """Wait for the moment; False when the run ends before it."""
        while kill.job not in self._begun():
            if process.poll() is not None:
                return False
            time.sleep(POLL_SECONDS)
        with suppress(subprocess.TimeoutExpired):
            process.wait(kill.seconds)
        return process.poll() is None

    def _end_of(self, process: subprocess.Popen[bytes], out: str) -> int:
        try:
            code = process.wait(LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.wrong.append(f"{out}: a run did not end within {LIMIT_SECONDS} s")
            kill_session(process.pid)
            code = process.wait()
        if code not in (0, 1, EXIT_UNCHANGED):
            say(self._log.read_text(errors="replace")[-3000:])
        return code

    def leave_nothing(self) -> None:
        """Wait until no process of any run is left; one that stays is wrong, and is killed."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        for session in self.sessions:
            while (left := list(members(session))) and time.monotonic() < deadline:
                time.sleep(POLL_SECONDS)
            if left:
                self.wrong.append(f"{len(left)} processes were left running {PATIENCE_SECONDS} s after their driver")
                kill_session(session)
        self.sessions.clear()


def members(session: int) -> Iterator[int]:
    """Processes of a session that run; PySpark's daemon has a process group of its own, but no session."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, its_session = path.read_text().rpartition(")")[2].split()[:4]
            if int(its_session) == session and state != "Z":
                yield int(path.parent.name)


def kill_session(session: int) -> None:
    """Kill all processes of a session, also those that are being made meanwhile."""
    while left := list(members(session)):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(POLL_SECONDS)


def table_at(out: str, name: str) -> pa.Table | None:
    """A table in a folder or a bucket, whole; None where there is none."""
    table = open_table(out, TABLES[name])
    if table is None:
        return None
    if local_out(out) is not None:
        return table.to_pyarrow_table()
    with readers() as reading:
        return dataset(table, table_bucket(out, TABLES[name]), reading).to_table()


def seconds_by_job(out: str, cluster: str) -> dict[str, float]:
    """How long each job of a run took, in the order of their starts."""
    runs = table_at(out, "runs")
    rows = runs.to_pylist() if runs is not None else []
    mine = sorted((row for row in rows if row["cluster"] == cluster), key=lambda row: row["started"])
    return {row["job"]: row["seconds"] for row in mine}


def planned(seconds: dict[str, float], kills: int, chance: random.Random) -> deque[Kill]:
    """So many kills, dealt out to all jobs in equal shares and random order."""
    jobs: list[str] = []
    while len(jobs) < kills:
        jobs += chance.sample(list(seconds), len(seconds))
    return deque(Kill(job, chance.uniform(0, seconds[job]), chance.random() < 0.5) for job in jobs[:kills])


def play_round(drill: Drill, out: str, left: deque[Kill], chance: random.Random) -> int:
    """Kill runs into one place, and let the last one end; its exit code."""
    killed = 0
    while left and (not killed or chance.random() < 0.5):
        kill = left.popleft()
        code = drill.run_until(kill, out)
        if code is not None:  # what comes too late for a first run comes too late for all
            left.appendleft(kill if killed else replace(kill, seconds=kill.seconds / 2))
            return code
        killed += 1
    return drill.run(out)


def differences(one: str, other: str) -> Iterator[str]:
    """What two audits of one source do not have in common, in words."""
    for name in sorted(TABLES.keys() - NOT_COMPARED):
        tables = [table_at(out, name) for out in (one, other)]
        here, there = (texts_of(table) if table is not None else None for table in tables)
        if here is None or there is None:
            if here is not there:
                yield f"{name}: only in {one if there is None else other}"
            continue
        gone, new = here - there, there - here
        if gone or new:
            yield f"{name}: rows gone: {gone.total()}, new: {new.total()}"
            yield from (f"  - {row}" for row in sorted(gone)[:SHOWN])
            yield from (f"  + {row}" for row in sorted(new)[:SHOWN])
    if (before := _counts(one)) != (after := _counts(other)):
        yield f"result.json: counts {before} and {after}"


def _counts(out: str) -> object:
    """Of result.json; None where there is none, as pipelines without a report leave it."""
    try:
        return json.loads(beside(out).read("result.json"))["counts"]
    except (SourceError, FileNotFoundError):
        return None


def play(options: argparse.Namespace, drill: Drill) -> None:
    """All rounds."""
    like, chance = options.like, random.Random(options.seed)  # noqa: S311 - repeatable, no secret
    expected = 0
    if like is None:
        like = f"{options.out}/undisturbed"
        expected = drill.run(like)
    seconds = seconds_by_job(like, options.cluster)
    if not seconds or expected not in (0, 1):
        drill.wrong.append(f"{like}: no undisturbed run to compare with")
        return
    say(f"{like}: " + ", ".join(f"{job} {taken:.1f} s" for job, taken in seconds.items()))
    left = planned(seconds, options.kills, chance)
    number = 0
    while left:
        number += 1
        out, began = f"{options.out}/{number}", time.monotonic()
        say(f"round {number}")
        code = play_round(drill, out, left, chance)
        if code not in (expected, EXIT_UNCHANGED):
            drill.wrong.append(f"{out}: ended with exit code {code}, undisturbed with {expected}")
        found = list(differences(like, out))
        drill.wrong += [f"{out}: {words}" for words in found]
        drill.leave_nothing()
        say(f"  exit code {code}, {'DIFFERENT' if found else 'equal'}, {time.monotonic() - began:.0f} s")
        if (folder := local_out(out)) is not None and not found:
            shutil.rmtree(folder)


def arg_parser() -> argparse.ArgumentParser:
    """Options."""
    parser = argparse.ArgumentParser(
        prog="kill_drill", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", metavar="SOURCE")
    parser.add_argument("out", metavar="OUT", help="empty folder, or address of a bucket, for all rounds")
    parser.add_argument("--admin", metavar="DIR", help="saved admin JSON")
    parser.add_argument("--cluster", default="default", metavar="NAME")
    parser.add_argument("--pipeline", default="audit", metavar="NAME", help="such as repair_plan, which also exports")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--like", metavar="OUT", help="an undisturbed run of the same, made before")
    parser.add_argument(
        "--program", type=shlex.split, default=[sys.executable, "-m", "pulsar_backlog.cli"], metavar="WORDS",
        help="what stands before the command",
    )  # fmt: skip
    return parser


def main(argv: Sequence[str]) -> int:
    """Kill, compare, and say so."""
    options = arg_parser().parse_args(argv)
    told = {"source": options.source, "admin": options.admin, "cluster": options.cluster, "fail-on": "never"}
    words = [word for name, value in told.items() if value for word in (f"--{name}", value)]
    with tempfile.TemporaryDirectory(prefix="kill-drill-", ignore_cleanup_errors=True) as scratch:
        drill = Drill([*options.program, "run", options.pipeline, *words], Path(scratch))
        try:
            play(options, drill)
        finally:  # Ctrl-C too
            for session in drill.sessions:
                kill_session(session)
    say("kills: " + ", ".join(f"{job} {count}" for job, count in drill.hits.most_common()))
    for sentence in drill.wrong:
        say(sentence)
    say("WRONG, see above" if drill.wrong else "all tables equal")
    return 1 if drill.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
