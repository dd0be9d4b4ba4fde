"""A standalone cluster of Spark on loopback, of pyspark's own jars: a master and two workers, ended by process id.

What a job was sent as is what docs/cluster.md says: the zip of `make dist`, jars by `--jars`, an archived environment.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from tests.spark_cluster.running import ROOT, Bucket, run
from tests.stores.servers import free_port, running

SPARK_HOME = Path(pyspark.__file__).parent
WORKERS = 2
EXECUTOR_MEMORY = "768m"
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For JVMs that live for a minute: compiled once and quickly."""
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
    """

    master: str
    folder: Path
    bucket: Bucket
    jars: str

    def submit(self, job: str, *argv: object, conf: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        """spark-submit of a job's file, as docs/cluster.md says."""
        events = self.folder / "events"
        events.mkdir(exist_ok=True)
        settings = (f"spark.eventLog.dir={events.as_uri()}", "spark.eventLog.enabled=true", "spark.ui.enabled=false",
                    "spark.eventLog.rolling.enabled=false", "spark.eventLog.compress=false",
                    f"spark.pyspark.python={sys.executable}", f"spark.driver.extraJavaOptions={SHORT_LIVED}",
                    f"spark.executor.extraJavaOptions={SHORT_LIVED}", *conf)  # fmt: skip
        command = [
            *(str(SPARK_HOME / "bin" / "spark-submit"), "--master", self.master, "--name", job),
            *("--properties-file", str(ROOT / "conf" / "spark" / "submit.conf"), *MEMORY),
            *("--jars", self.jars, "--py-files", str(self.folder / "pulsar_backlog.zip")),
            *(part for setting in settings for part in ("--conf", setting)),
            *(str(ROOT / "jobs" / f"{job}.py"), *map(str, argv)),
        ]
        # No PYTHONPATH: what is not in the zip is not there.
        own = {"SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": ""}
        return run(command, self.bucket.environment | own)

    def work(self, job: str) -> Work:
        """What the last application of a job did."""
        logs = sorted((self.folder / "events").iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in logs:
            events = [json.loads(line) for line in path.read_text().splitlines()]
            if any(event.get("App Name") in (job, f"pulsar-backlog {job}") for event in events):
                names = [event["Event"] for event in events]
                return Work(names.count("SparkListenerJobStart"), names.count("SparkListenerTaskEnd"))
        raise LookupError(job)


@contextmanager
def running_cluster(folder: Path, bucket: Bucket) -> Iterator[Cluster]:
    """Start master and workers; both know nothing of this repository."""
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    of_daemons = {"SPARK_HOME": str(SPARK_HOME), "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": "127.0.0.1",
                  "SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED}  # fmt: skip
    of_workers = of_daemons | bucket.environment | {"AWS_EC2_METADATA_DISABLED": "true"}
    with ExitStack() as stack:
        of_master = _daemon("master.Master", port)
        stack.enter_context(running(of_master, port, folder / "master.log", of_daemons))
        for number in range(WORKERS):
            work, own = folder / f"worker-{number}", free_port()
            work.mkdir()
            start = [*_daemon("worker.Worker", own), "--cores", "1", "--memory", "1g", "--work-dir", str(work), master]
            stack.enter_context(running(start, own, work / "worker.log", of_workers))
        yield Cluster(master, folder, bucket, _jars())


def _daemon(name: str, port: int) -> list[str]:
    at = ("--host", "127.0.0.1", "--port", str(port), "--webui-port", str(free_port()))
    return [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *at]


def zipped(folder: Path) -> Path:
    """The zip of `make dist`."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    subprocess.run([*command, str(ROOT)], check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return Path(shutil.move(wheel, folder / "pulsar_backlog.zip"))


def _jars() -> str:
    done = run([sys.executable, "-m", "pulsar_backlog.storage.jars", "s3a"], {})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
