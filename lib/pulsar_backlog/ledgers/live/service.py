"""How a live cluster is reached, as options name it. Command lines wait for this module: it imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass, replace

DEFAULT_RATE = 10 * 1024 * 1024
"""Bytes a second that are asked of a cluster: about what one busy consumer takes."""
LEAST_RATE = 16 * 1024
"""Bytes a second below which a range is given up: an audit at this rate would take a day for each gigabyte."""

LIVE_NEEDED = (
    "entries of a live topic are read from its brokers: say --admin-url http://broker:8080, and where the source does "
    "not name the brokers --live pulsar://broker:6650"
)
"""What is said where brokers are needed and not named."""


@dataclass(frozen=True)
class Live:
    """How a live cluster is reached. It names where secrets lie and holds none, so it may travel to any worker.

    Attributes:
        service_url: of brokers.
        admin_url: web service of a broker.
        snapshot: folder with a snapshot, which says what topics hold; None where nothing is to be listed.
        max_rate: bytes a second that one process may read.
        token_file: file that holds the token, or None for the environment's.
        ca_file: certificates that the servers' must descend from.
        cert_file: our certificate.
        key_file: its key.
        timeout_seconds: how long one answer may take.
        token_without_tls: whether the token may travel in the clear.
        broker_hosts: globs on hosts that are the cluster's besides those that it lists.
        min_rate: bytes a second below which reading ends while nothing but the broker is waited for.
        run_folder: where processes of a run tell each other what they learn of brokers; None where none is shared.
    """

    service_url: str
    admin_url: str
    snapshot: str | None = None
    max_rate: int = DEFAULT_RATE
    token_file: str | None = None
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    timeout_seconds: float = 30.0
    token_without_tls: bool = False
    broker_hosts: tuple[str, ...] = ()
    min_rate: int = LEAST_RATE
    run_folder: str | None = None

    def shared_by(self, readers: int) -> Live:
        """The same for each of several readers, which together keep to the rate."""
        return replace(self, max_rate=max(1, self.max_rate // max(1, readers)))


def is_service(source: str) -> bool:
    """Whether a source is the service of live brokers."""
    return source.startswith(("pulsar://", "pulsar+ssl://"))
