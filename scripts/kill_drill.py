"""Kill drill: a pipeline killed with SIGKILL at random moments, started again until it ends, leaves undisturbed tables.

    python scripts/kill_drill.py SOURCE OUT --admin DIR --kills 100
    python scripts/kill_drill.py SOURCE s3a://BUCKET/PREFIX --program 'spark-submit ... conf/deploy/application.py'

An undisturbed run comes first; its `runs` say how long each job takes. Each round then begins in an empty place below
OUT. Kills are dealt out to all jobs in equal shares, each to a random moment of its job. Half of them hit all processes
at once (driver, JVM, Python workers), half only the one that was started: what it leaves behind may go on writing
beside the next run, which is started at once. After each kill it is even chances whether the next run is killed too.
When a run of a round has ended, all tables but `runs` are compared row by row, and the counts of result.json.

With `--endings N` a last round begins with N runs that Ctrl-C stops (half of them in the first half second), or whose
Java, short Java before it, daemon or worker of Spark is killed: each must say one sentence, with the exit code that
belongs to it.

Exit 1 when something differs, did not end as it should, or is left running. Linux only: it reads /proc.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from pulsar_backlog.tableio.places import local_out
from pulsar_backlog.terms import EXIT_UNCHANGED
from scripts.audit_tables import differences, table_at
from scripts.compare_audits import say
from scripts.ending_drill import TRIES, Disturbance, disturb, end_of, faults
from scripts.ending_drill import planned as planned_endings
from scripts.sessions import POLL_SECONDS, kill_session, members

LABEL = re.compile(r"^\[\d+/\d+\] (\w+)$", re.MULTILINE)
"""What a pipeline writes when a job of it begins."""
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
        expected: exit code of an undisturbed run.
    """

    command: list[str]
    scratch: Path
    hits: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    sessions: list[int] = field(default_factory=list)
    expected: int = 0

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

    def disturb(self, one: Disturbance, out: str) -> bool:
        """Run the pipeline and disturb it; whether that came before its end."""
        process = self._started(out)
        since = disturb(process, one)
        end_of(process)
        log = self._log.read_text(errors="replace")
        if since is None:
            return False
        wrong = faults(one, process, since, log, self.expected)
        self.wrong += [f"{out}: {one.kind} after {one.seconds:.2f} s: {words}" for words in wrong]
        say(f"  {one.kind} after {one.seconds:.2f} s: exit code {process.returncode}{', WRONG' if wrong else ''}")
        if wrong:
            say(log[-3000:])
        return True

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


def play(options: argparse.Namespace, drill: Drill) -> None:
    """All rounds."""
    like, chance = options.like, random.Random(options.seed)  # noqa: S311 - repeatable, no secret
    if like is None:
        like = f"{options.out}/undisturbed"
        drill.expected = drill.run(like)
    seconds = seconds_by_job(like, options.cluster)
    if not seconds or drill.expected not in (0, 1):
        drill.wrong.append(f"{like}: no undisturbed run to compare with")
        return
    say(f"{like}: " + ", ".join(f"{job} {taken:.1f} s" for job, taken in seconds.items()))
    left = planned(seconds, options.kills, chance)
    number = 0
    while left:
        number += 1
        out, began = f"{options.out}/{number}", time.monotonic()
        say(f"round {number}")
        compare(drill, like, out, play_round(drill, out, left, chance), began)
    if options.endings:
        out, began = f"{options.out}/endings", time.monotonic()
        say("endings")
        for one in planned_endings(options.endings, sum(seconds.values()), chance):
            for at in range(TRIES):
                if drill.disturb(replace(one, seconds=one.seconds / 2**at), out):
                    drill.hits[one.kind] += 1
                    break
                # The run had ended before: what is committed is not done again.
                shutil.rmtree(local_out(out) or drill.scratch / "none", ignore_errors=True)
            else:
                say(f"no run waited for {one.kind}")
        compare(drill, like, out, drill.run(out), began)


def compare(drill: Drill, like: str, out: str, code: int, began: float) -> None:
    """Hold what a round has left against an undisturbed run, and its exit code."""
    if code not in (drill.expected, EXIT_UNCHANGED):
        drill.wrong.append(f"{out}: ended with exit code {code}, undisturbed with {drill.expected}")
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
    parser.add_argument("--endings", type=int, default=0, metavar="N", help="runs that are stopped, or lose a helper")
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
