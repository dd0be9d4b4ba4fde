"""A standalone broker of one's own: loopback only, free ports, a temporary data folder, ended by its process id."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import urllib3

from tests.broker.distribution import Server, broker_home, distributed
from tests.broker.identity import Identity, make_identity
from tests.ports import free_ports
from tests.processes import die_with_parent, end

HEAP = "1g"
BRIEF = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""For a broker that lives for a minute, on a machine that has other work."""
START_SECONDS = 120

_OPENED = (
    *(f"java.base/{name}" for name in ("java.io", "java.util.zip", "sun.net", "java.nio", "jdk.internal.misc")),
    *("java.base/jdk.internal.platform", "java.management/sun.management"),
    "jdk.management/com.sun.management.internal",
)
_SETTINGS = {
    "bindAddress": "127.0.0.1",
    "advertisedAddress": "127.0.0.1",
    "managedLedgerDefaultEnsembleSize": "1",
    "managedLedgerDefaultWriteQuorum": "1",
    "managedLedgerDefaultAckQuorum": "1",
    "brokerEntryMetadataInterceptors": (
        "org.apache.pulsar.common.intercept.AppendBrokerTimestampMetadataInterceptor,"
        "org.apache.pulsar.common.intercept.AppendIndexMetadataInterceptor"
    ),
    "maxMessageSize": "65536",  # chunks at 64 KiB
    "managedLedgerCursorPositionFlushSeconds": "1",
    "defaultRetentionSizeInMB": "-1",  # nothing is trimmed while a test looks
    "defaultRetentionTimeInMinutes": "-1",
    "acknowledgmentAtBatchIndexLevelEnabled": "true",
    "topicLevelPoliciesEnabled": "true",
    "systemTopicEnabled": "true",
    "allowAutoTopicCreation": "true",
    "diskUsageThreshold": "0.99",
    "diskUsageWarnThreshold": "0.98",
    "journalSyncData": "false",
    "numIOThreads": "2",
    "numHttpServerThreads": "8",
    "authenticationEnabled": "true",
    "authorizationEnabled": "true",
    "superUserRoles": "admin",
    "authenticationProviders": (
        "org.apache.pulsar.broker.authentication.AuthenticationProviderToken,"
        "org.apache.pulsar.broker.authentication.AuthenticationProviderTls"
    ),
    "webServiceTlsProvider": "",  # the JDK's; the default is a native library
}


@dataclass(frozen=True)
class Broker:
    """A running broker.

    Attributes:
        admin_url, service_url: without encryption.
        admin_tls_url, service_tls_url: with TLS, under the certificate of `identity`.
        identity: keys, certificates and tokens that it knows.
        pid: of the JVM.
        log: what it prints.
        ports: that it listens on.
    """

    admin_url: str
    service_url: str
    admin_tls_url: str
    service_tls_url: str
    identity: Identity
    pid: int
    log: Path
    ports: list[int]

    @property
    def token_file(self) -> Path:
        """Token of the superuser."""
        return self.identity.token("admin")

    @property
    def headers(self) -> dict[str, str]:
        """What a superuser's HTTP request carries."""
        return {"Authorization": f"Bearer {self.token_file.read_text()}"}


@contextmanager
def running_broker(
    folder: Path, settings: Mapping[str, str] | None = None, environment: Mapping[str, str] | None = None,
    again: Broker | None = None, jvm: Sequence[str] = BRIEF, identity: Identity | None = None,
    server: Server | None = None,
) -> Iterator[Broker]:  # fmt: skip
    """Start a broker with its data in `folder`, wait until it takes topics, and end it.

    With `again` it is that one once more: the same data, ports and keys. `jvm` has options for its Java.
    Brokers with one `identity` know each other's tokens. `server` is one of another release.
    """
    ports = again.ports if again else free_ports(6)
    identity = again.identity if again else identity or make_identity(folder / "identity")
    known = folder / "hosts"
    known.write_text(f"127.0.0.1 localhost\n127.0.0.1 {socket.gethostname()}\n")
    conf = folder / "standalone.conf"
    _write_settings(conf, ports, identity, settings or {})
    log = folder / "broker.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            _command(server or distributed(), conf, known, folder, ports, jvm),
            cwd=folder,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that an interrupt of the tests ends it here, and not halfway
            preexec_fn=die_with_parent,  # noqa: PLW1509 - a single call of the kernel
            env={"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", **(environment or {})},
        )
    try:
        broker = Broker(
            f"http://127.0.0.1:{ports[0]}", f"pulsar://127.0.0.1:{ports[1]}",
            f"https://127.0.0.1:{ports[2]}", f"pulsar+ssl://127.0.0.1:{ports[3]}",
            identity, process.pid, log, ports,
        )  # fmt: skip
        _wait_until_ready(broker, process)
        yield broker
    finally:
        end(process)


def _command(server: Server, conf: Path, known: Path, folder: Path, ports: list[int], jvm: Sequence[str]) -> list[str]:
    return [
        "java",
        f"-Xmx{HEAP}",
        "-XX:MaxDirectMemorySize=512m",
        *jvm,
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-Dio.netty.leakDetectionLevel=disabled",
        f"-Djdk.net.hosts.file={known}",  # no name but ours resolves: it cannot reach another machine
        f"-Dlog4j2.configurationFile={server.logging}",
        "-Dpulsar.log.appender=Console",
        "-Dpulsar.log.level=info",
        f"-Dpulsar.log.dir={folder}",
        *(f"--add-opens={name}=ALL-UNNAMED" for name in _OPENED),
        *("-cp", server.class_path),
        "org.apache.pulsar.PulsarStandaloneStarter",
        *("-c", str(conf)),
        *("--bookkeeper-dir", str(folder / "bookkeeper")),
        *(("--bookkeeper-port", str(ports[4])) if server.takes_bookie_port else ()),
        *("--metadata-dir", str(folder / "metadata")),
        "--no-functions-worker",
        "--no-stream-storage",
    ]


def _write_settings(conf: Path, ports: list[int], identity: Identity, settings: Mapping[str, str]) -> None:
    own = {
        "webServicePort": ports[0],
        "brokerServicePort": ports[1],
        "webServicePortTls": ports[2],
        "brokerServicePortTls": ports[3],
        "tlsCertificateFilePath": identity.server_cert,
        "tlsKeyFilePath": identity.server_key,
        "tlsTrustCertsFilePath": identity.ca,
        "tokenSecretKey": f"file://{identity.token_secret}",
        "brokerClientAuthenticationPlugin": "org.apache.pulsar.client.impl.auth.AuthenticationToken",
        "brokerClientAuthenticationParameters": f"file://{identity.token('admin')}",
    }
    stock = (broker_home() / "conf" / "standalone.conf").read_text()
    wanted = {**_SETTINGS, **own, **settings}
    # Of a repeated key the last counts.
    conf.write_text(stock + "\n" + "".join(f"{key}={value}\n" for key, value in wanted.items()))


def _wait_until_ready(broker: Broker, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    http = urllib3.PoolManager(retries=False, timeout=5)
    with ExitStack() as stack:
        stack.callback(http.clear)
        while time.monotonic() < deadline:
            if process.poll() is not None:
                break
            try:
                ready = http.request("GET", f"{broker.admin_url}/admin/v2/brokers/ready", headers=broker.headers)
                spaces = http.request("GET", f"{broker.admin_url}/admin/v2/namespaces/public", headers=broker.headers)
                if ready.status == 200 and b"public/default" in spaces.data:
                    # The first lookups fail with "service is not ready" for another second.
                    place = http.request(
                        "GET", f"{broker.admin_url}/lookup/v2/topic/persistent/public/default/x", headers=broker.headers
                    )
                    if place.status == 200:
                        return
            except urllib3.exceptions.HTTPError:
                pass
            time.sleep(0.3)
    tail = "\n".join(broker.log.read_text(errors="replace").splitlines()[-40:])
    raise RuntimeError(f"the broker did not start; the end of its log:\n{tail}")
