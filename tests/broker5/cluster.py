"""A standalone broker of 5.0.0-M1 on loopback, its clients, and the scenario that they play."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3

from tests.broker5.distribution import jars
from tests.java_programs import Program, java, running_program, tail
from tests.ports import free_ports
from tests.processes import end

START_SECONDS = 120
CLIENTS = Path(__file__).with_name("Clients.java")
_BRIEF = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_OPENED = (
    *(f"java.base/{name}" for name in ("java.io", "java.lang", "java.net", "java.nio", "java.util.zip", "sun.net")),
    *("java.base/jdk.internal.misc", "java.base/jdk.internal.platform", "java.management/sun.management"),
    "jdk.management/com.sun.management.internal",
)
_LOGGING = """<Configuration status="WARN"><Appenders><Console name="all" target="SYSTEM_ERR">
<PatternLayout pattern="%d %p %c{1} %m%n"/></Console></Appenders>
<Loggers><Root level="info"><AppenderRef ref="all"/></Root></Loggers></Configuration>
"""
_SETTINGS = {
    "bindAddress": "127.0.0.1",
    "advertisedAddress": "127.0.0.1",
    "clusterName": "standalone",
    "managedLedgerDefaultEnsembleSize": "1",
    "managedLedgerDefaultWriteQuorum": "1",
    "managedLedgerDefaultAckQuorum": "1",
    "managedLedgerMaxEntriesPerLedger": "15",
    "managedLedgerMinLedgerRolloverTimeMinutes": "0",
    "brokerEntryMetadataInterceptors": (
        "org.apache.pulsar.common.intercept.AppendBrokerTimestampMetadataInterceptor,"
        "org.apache.pulsar.common.intercept.AppendIndexMetadataInterceptor"
    ),
    "maxMessageSize": "65536",
    "defaultRetentionSizeInMB": "-1",
    "defaultRetentionTimeInMinutes": "-1",
    "acknowledgmentAtBatchIndexLevelEnabled": "true",
    "transactionCoordinatorEnabled": "true",
    "transactionCoordinatorScalableTopicsEnabled": "true",
    "scalableTopicAutoScaleEnabled": "false",  # a test splits and merges when it wants to
    "systemTopicEnabled": "true",
    "topicLevelPoliciesEnabled": "true",
    "diskUsageThreshold": "0.99",
    "diskUsageWarnThreshold": "0.98",
    "numIOThreads": "2",
    "numHttpServerThreads": "8",
    # The bookie reads the same file; without a distribution nothing is set for it.
    "allowLoopback": "true",
    "allowMultipleDirsUnderSameDiskPartition": "true",
    "ledgerStorageClass": "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage",
    "dbStorage_writeCacheMaxSizeMb": "32",
    "dbStorage_readAheadCacheMaxSizeMb": "16",
    "flushInterval": "1000",
    "journalSyncData": "false",
    "journalMaxSizeMB": "16",
    "journalPreAllocSizeMB": "1",
    "httpServerEnabled": "false",
}

Received = list[tuple[str, int, str, str]]
"""Label, bytes, sha256 and topic of each message, in order."""


@dataclass(frozen=True)
class Cluster:
    """A running broker with its bookie.

    Attributes:
        folder: its data: `bookkeeper`, `metadata`, logs.
        admin_url, service_url: where it listens.
    """

    folder: Path
    admin_url: str
    service_url: str

    def request(self, method: str, path: str, body: object = None) -> Any:
        """An answer of the admin API."""
        http = urllib3.PoolManager(retries=False, timeout=60)
        headers = {"Content-Type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        answer = http.request(method, f"{self.admin_url}/admin/v2{path}", headers=headers, body=content)
        http.clear()
        assert answer.status < 300, f"{method} {path}: {answer.status} {answer.data[:300]!r}"
        return json.loads(answer.data) if answer.data.strip() else None


class Clients:
    """The Java clients, see Clients.java."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def __call__(self, *words: object) -> Any:
        """What they answer to one line."""
        return self._program(*words)

    def receive(self, kind: str, topic: str, subscription: str, acks: str, transaction: str = "-") -> Received:
        """Everything that a consumer is given until nothing comes for three seconds."""
        return [tuple(row) for row in self("receive", kind, topic, subscription, acks, transaction)]


@contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    """Start it with its data in `folder`, and end it."""
    web, binary = free_ports(2)
    settings = _SETTINGS | {"webServicePort": str(web), "brokerServicePort": str(binary)}
    (folder / "standalone.conf").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    (folder / "log4j2.xml").write_text(_LOGGING)
    (folder / "hosts").write_text(f"127.0.0.1 localhost\n127.0.0.1 {socket.gethostname()}\n")
    command = [
        *_java(folder, "1g"), f"-Djdk.net.hosts.file={folder / 'hosts'}", "-cp", f"{jars()}/*",
        "org.apache.pulsar.PulsarStandaloneStarter", "-c", str(folder / "standalone.conf"),
        "--bookkeeper-dir", str(folder / "bookkeeper"), "--metadata-dir", str(folder / "metadata"),
        "--no-functions-worker", "--no-stream-storage",
    ]  # fmt: skip
    with (folder / "broker.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, env=_environment(folder)
        )
    try:
        cluster = Cluster(folder, f"http://127.0.0.1:{web}", f"pulsar://127.0.0.1:{binary}")
        _wait_until_ready(cluster, process)
        yield cluster
    finally:
        end(process)


@contextmanager
def running_clients(cluster: Cluster) -> Iterator[Clients]:
    """Clients of a cluster, which end with the block."""
    command = [*_java(cluster.folder, "512m"), "-cp", f"{jars()}/*", str(CLIENTS), cluster.service_url]
    with running_program(command, cluster.folder, _environment(cluster.folder)) as program:
        yield Clients(program)


def _java(folder: Path, heap: str) -> list[str]:
    return [
        java(), f"-Xmx{heap}", "-XX:MaxDirectMemorySize=512m", *_BRIEF,
        "-Dio.netty.tryReflectionSetAccessible=true", "-Dio.netty.leakDetectionLevel=disabled",
        f"-Dlog4j2.configurationFile={folder / 'log4j2.xml'}",
        *(f"--add-opens={name}=ALL-UNNAMED" for name in _OPENED),
    ]  # fmt: skip


def _environment(folder: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}


def _wait_until_ready(cluster: Cluster, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    http = urllib3.PoolManager(retries=False, timeout=5)
    while time.monotonic() < deadline and process.poll() is None:
        try:
            # The topics of transaction coordinators are made last.
            paths = ("brokers/ready", "namespaces/public", "scalable/public/default")
            answers = [http.request("GET", f"{cluster.admin_url}/admin/v2/{path}") for path in paths]
            if all(one.status == 200 for one in answers) and b"public/default" in answers[1].data:
                http.clear()
                return
        except urllib3.exceptions.HTTPError:
            pass
        time.sleep(0.3)
    raise RuntimeError(f"the broker did not start; the end of its log:\n{tail(cluster.folder / 'broker.log')}")
