"""A standalone cluster of Spark on loopback, of pyspark's own jars: a master and two workers, ended by process id.

What a job was sent as is what docs/cluster.md says: the zip of `make dist`, jars by `--jars`, an archived environment.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import files
from pathlib import Path
from typing import Any

import pyspark
from packaging.requirements import Requirement

from pulsar_backlog.spark.class_archive import SILENT
from tests.ports import free_port
from tests.spark_cluster.running import ROOT, Bucket, environment_of, run
from tests.stores.servers import running

SPARK_HOME = Path(pyspark.__file__).parent
HOSTS = ("127.0.0.1", "127.0.0.2")
"""Of the workers: a task that is slow is tried once more on another host only."""
EXECUTOR_MEMORY = "768m"
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For JVMs that live for a minute: compiled once and quickly."""
_QUERIES = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
made = spark.range(200).selectExpr("id", "id % 7 AS k", "cast(id AS string) AS s")
made.write.parquet(sys.argv[1])
rows = spark.read.parquet(sys.argv[1])
joined = rows.join(rows.groupBy("k").count(), on="k").filter("id > 5").orderBy("id")
joined.mapInArrow(lambda batches: batches, joined.schema).toArrow()
spark.stop()
"""
MEMORY = ("--executor-memory", EXECUTOR_MEMORY, "--driver-memory", EXECUTOR_MEMORY)


@dataclass(frozen=True)
class Work:
    """What an application asked Spark to do, from its event log."""

    jobs: int
    tasks: int

    def within(self, most: Work) -> bool:
        """Whether it is not more than that."""
        return self.jobs <= most.jobs and self.tasks <= most.tasks


@dataclass(frozen=True)
class Cluster:
    """A running cluster.

    Attributes:
        master: its address.
        folder: where the zip, event logs and worker's folders lie.
        bucket: the server of objects, whose credentials workers have in their environment.
        jars: as `--jars` takes them.
        workers: host and port of each.
        java_options: of drivers and executors.
    """

    master: str
    folder: Path
    bucket: Bucket
    jars: str
    workers: tuple[str, ...]
    java_options: str

    def submit(self, job: str | Path, *argv: object, conf: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        """spark-submit of a job's file, or of another program, as docs/cluster.md says."""
        return run(self._command(_file_of(job), *argv, conf=conf), self.environment)

    @property
    def program(self) -> list[str]:
        """spark-submit of the whole program: what stands before a command, in `environment`."""
        return self._command(ROOT / "conf" / "deploy" / "application.py")

    def start(self, job: str, *argv: object, endpoint: str, conf: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        """The same, not waited for; the bucket is reached through another endpoint."""
        environment = environment_of(self.environment | {"AWS_ENDPOINT_URL": endpoint})
        return subprocess.Popen(
            self._command(_file_of(job), *argv, conf=conf), env=environment, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    @property
    def environment(self) -> dict[str, str]:
        """Of drivers."""
        # No PYTHONPATH: what is not in the zip is not there.
        own = {"SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": "",
               "PULSAR_BACKLOG_HOME": str(ROOT)}  # fmt: skip
        return self.bucket.environment | own

    def _command(self, program: Path, *argv: object, conf: tuple[str, ...] = ()) -> list[str]:
        settings = (*self.recorded, "spark.ui.enabled=false", f"spark.pyspark.python={sys.executable}",
                    f"spark.pyspark.driver.python={sys.executable}",
                    f"spark.driver.extraJavaOptions={self.java_options}",
                    f"spark.executor.extraJavaOptions={self.java_options}", *conf)  # fmt: skip
        return [
            *(str(SPARK_HOME / "bin" / "spark-submit"), "--master", self.master, "--name", program.stem),
            *("--properties-file", str(ROOT / "conf" / "spark" / "submit.conf"), *MEMORY),
            *("--jars", self.jars, "--py-files", str(self.folder / "pulsar_backlog.zip")),
            *(part for setting in settings for part in ("--conf", setting)),
            *(str(program), *map(str, argv)),
        ]

    @property
    def recorded(self) -> tuple[str, ...]:
        """Settings of an application whose `work` is to be known."""
        events = self.folder / "events"
        events.mkdir(exist_ok=True)
        return (f"spark.eventLog.dir={events.as_uri()}", "spark.eventLog.enabled=true",
                "spark.eventLog.rolling.enabled=false", "spark.eventLog.compress=false")  # fmt: skip

    def work(self, job: str) -> Work:
        """What the last application of a job did."""
        names = [event["Event"] for event in self.events(job)]
        return Work(names.count("SparkListenerJobStart"), names.count("SparkListenerTaskEnd"))

    def events(self, job: str) -> list[dict[str, Any]]:
        """The event log of the last application of a job."""
        logs = sorted((self.folder / "events").iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in logs:
            events = [json.loads(line) for line in path.read_text().splitlines()]
            if any(event.get("App Name") in (job, f"pulsar-backlog {job}") for event in events):
                return events
        raise LookupError(job)

    def busy_executors(self) -> dict[int, str]:
        """Those executors of the newest application that run Python, and so tasks of ours: its path by process id."""
        parents = {_parent_of(pid): argv.split()[0] for pid, argv in _processes() if "pyspark.daemon" in argv}
        mine = [f"--worker-url spark://Worker@{worker}" for worker in self.workers]
        busy = [
            (found[1], pid)
            for pid, argv in _processes()
            if pid in parents and any(one in argv for one in mine) and (found := re.search(r"--app-id (\S+)", argv))
        ]
        newest = max((app for app, _ in busy), default="")
        return {pid: parents[pid] for app, pid in busy if app == newest}


def _file_of(job: str | Path) -> Path:
    return job if isinstance(job, Path) else ROOT / "jobs" / f"{job}.py"


def _processes() -> Iterator[tuple[int, str]]:
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            yield int(path.name), (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")


def _parent_of(pid: int) -> int:
    with suppress(OSError):
        return int((Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
    return 0


@contextmanager
def running_cluster(folder: Path, bucket: Bucket) -> Iterator[Cluster]:
    """Start master and workers; both know nothing of this repository."""
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    of_daemons = {"SPARK_HOME": str(SPARK_HOME), "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": "127.0.0.1",
                  "SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED}  # fmt: skip
    of_workers = of_daemons | bucket.environment | {"AWS_EC2_METADATA_DISABLED": "true"}
    with ExitStack() as stack:
        of_master = _daemon("master.Master", HOSTS[0], port)
        stack.enter_context(running(of_master, port, folder / "master.log", of_daemons))
        workers = []
        for host in HOSTS:
            work, own = folder / f"worker-{host}", free_port()
            work.mkdir()
            start = [*_daemon("worker.Worker", host, own), "--cores", "1", "--memory", "1g", "--work-dir", str(work)]
            environment = of_workers | {"SPARK_LOCAL_IP": host}
            stack.enter_context(running([*start, master], own, work / "worker.log", environment, host))
            workers.append(f"{host}:{own}")
        yield Cluster(master, folder, bucket, _jars(), tuple(workers), with_archive(folder))


def with_archive(folder: Path) -> str:
    """Options of drivers and executors, with an archive of Spark's classes that a driver makes here.

    All have one class path, and there are some eighty of them, each of which would read and check the same classes.
    """
    archive, program = folder / "classes.jsa", folder / "queries.py"
    program.write_text(_QUERIES)
    settings = ("spark.ui.enabled=false", f"spark.pyspark.python={sys.executable}",
                f"spark.driver.extraJavaOptions={SHORT_LIVED} -XX:ArchiveClassesAtExit={archive}")  # fmt: skip
    command = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", "local[1]"]
    command += [part for setting in settings for part in ("--conf", setting)]
    environment = {"SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": ""}
    done = run([*command, str(program), str(folder / "rows")], environment)
    assert done.returncode == 0, done.stderr
    return f"{SHORT_LIVED} -XX:SharedArchiveFile={archive} {SILENT}"


def _daemon(name: str, host: str, port: int) -> list[str]:
    at = ("--host", host, "--port", str(port), "--webui-port", str(free_port()))
    return [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *at]


def zipped(folder: Path) -> Path:
    """The zip of `make dist`."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    subprocess.run([*command, str(ROOT)], check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return Path(shutil.move(wheel, folder / "pulsar_backlog.zip"))


def archived(folder: Path) -> Path:
    """The archived environment of docs/cluster.md: what is locked, as it is installed here.

    All but pyspark, a quarter of it, which executors have from their cluster.
    """
    major, minor = sys.version_info[:2]
    environment, archive = folder / "environment", folder / "environment.tar.gz"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    lines = re.findall(r"^[\w.-]+==[^\\]+", (ROOT / "requirements" / "runtime.txt").read_text(), re.MULTILINE)
    requirements = map(Requirement, lines)
    locked = [one.name for one in requirements if one.marker is None or one.marker.evaluate()]  # here, not elsewhere
    with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
        tar.add(environment, ".")
        for path in (path for name in locked if name != "pyspark" for path in files(name) or ()):
            if path.parts[0] != "..":  # a command
                tar.add(path.locate(), f"lib/python{major}.{minor}/site-packages/{path}")
    return archive


def _jars() -> str:
    done = run([sys.executable, "-m", "pulsar_backlog.spark.jars", "s3a"], {})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
