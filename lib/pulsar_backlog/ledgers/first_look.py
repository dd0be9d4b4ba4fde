"""A first look at a source, before anything slow begins: can it be listed, and is there anything that was asked for?

It refuses what is surely wrong, with the cause. What it cannot decide within its time (a large bucket, a store that is
busy) it leaves to the inventory, which looks at everything.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from urllib.parse import urlsplit

from pulsar_backlog.counting import counted
from pulsar_backlog.errors import SourceError, UsageError, raise_error
from pulsar_backlog.grouping import groups_of
from pulsar_backlog.ledgers.bookies.names import role_of
from pulsar_backlog.ledgers.buckets.access import Access
from pulsar_backlog.ledgers.buckets.addresses import output_bucket
from pulsar_backlog.ledgers.copies import Pair, examine
from pulsar_backlog.ledgers.listing import Tally, kind_of, offload_name, printable
from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.stored_objects import StoredObject

LOOK_SECONDS = 1.5
THREADS = 16
"""Indexes read together, for the topics they name."""

_REMEDIES = {"permission_denied": "check the credentials and what they permit", "unreachable": "check the network"}
_REMEDIES_OF_RESULTS = {
    "permission_denied": _REMEDIES["permission_denied"],
    "unreachable": "name its service with --endpoint or AWS_ENDPOINT_URL, or check the network",
    "not_found": "make the bucket, or name another",
}
RESULTS_SECONDS = 10
_REMEDY = "check the address, and whether it can be read by other means"


def look_at(source: Source, scope: Scope) -> None:
    """Look whether the source can be listed and holds a ledger within the scope; its times are not looked at.

    Raises:
        UsageError: it cannot, or holds none.
    """
    if source.live is not None:
        return  # what its brokers hold, a snapshot has said
    over = threading.Event()
    knocking = threading.Event()
    raised: list[Exception] = []

    def look() -> None:
        try:
            if source.endpoint:
                knocking.set()
                _knock(source.endpoint)
                knocking.clear()
            _Look(source, scope, over.is_set).decide()
        except Exception as error:
            raised.append(error)

    looking = threading.Thread(target=look, daemon=True, name="first look")
    looking.start()
    looking.join(LOOK_SECONDS)
    over.set()
    if raised:
        raise raised[0]
    if looking.is_alive() and knocking.is_set():
        raise UsageError(_no_connection(str(source.endpoint)))


def look_at_results(out: str) -> None:
    """Ask the bucket of results once.

    Raises:
        UsageError: it cannot be reached, is not there, or does not let us in; what may pass is left to the jobs.
    """
    bucket = replace(output_bucket(out), access=Access(1, RESULTS_SECONDS))
    try:
        next(bucket.list(raise_error), None)
    except SourceError as error:
        if (remedy := _REMEDIES_OF_RESULTS.get(error.reason)) is not None:
            raise UsageError(f"--out {out}: {error}: {remedy}") from None


def _knock(endpoint: str) -> None:
    """Make a connection to the service and drop it, unless a proxy stands between.

    Raises:
        UsageError: there is no such host, or nobody listens.
    """
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415 - HTTP, for who names a service

    parts = urlsplit(endpoint)
    if getproxies().get(parts.scheme) and not proxy_bypass(parts.netloc):
        return
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((str(parts.hostname), port), timeout=LOOK_SECONDS).close()
    except TimeoutError as error:
        raise UsageError(_no_connection(endpoint)) from error
    except socket.gaierror as error:
        words = f"there is no host {parts.hostname!r} ({error.strerror})"
        raise UsageError(f"--endpoint {endpoint}: {words}: check its name and the network") from error
    except OSError as error:
        words = f"nothing listens there ({error.strerror or error})"
        raise UsageError(f"--endpoint {endpoint}: {words}: check host and port, and whether it runs") from error


def _no_connection(endpoint: str) -> str:
    return (
        f"--endpoint {endpoint}: no connection within {LOOK_SECONDS} s: check host and port, firewall and network, and "
        "whether it runs"
    )


@dataclass
class _Look:
    """What was seen of a source up to now.

    Attributes:
        source: what is looked at.
        scope: what was asked for.
        is_over: whether nobody waits for the answer any more.
        others: objects that are no ledger's.
        ledgers: objects of ledgers, within the scope or not.
        indexes: of attempts whose ids are within the scope.
        data: keys of attempts that have a data object.
        topics: full names that indexes within the scope gave.
        unreadable: what could not be listed.
    """

    source: Source
    scope: Scope
    is_over: Callable[[], bool]
    others: Tally = field(default_factory=Tally)
    ledgers: int = 0
    indexes: dict[tuple[int, str, str], StoredObject] = field(default_factory=dict)
    data: set[tuple[int, str, str]] = field(default_factory=set)
    topics: set[str] = field(default_factory=set)
    unreadable: list[SourceError] = field(default_factory=list)

    def decide(self) -> None:
        """Return when there is something that was asked for, or nobody can say yet.

        Raises:
            UsageError: there is surely nothing.
        """
        if self._finds_without_opening() or self.is_over():
            return
        name = printable([self.source.source])[0]
        if not self.ledgers:
            raise UsageError(self._nothing(name))
        if self.unreadable:
            return  # what was asked for may lie there
        if not self.indexes and not self.data:
            ranges = " or ".join(
                f"{first}-{last}" if first != last else str(first) for first, last in self.scope.ledgers
            )
            raise UsageError(
                f"no ledger in {name} has an id within --ledger {ranges}: it holds {self.ledgers:,} others"
            )
        if self._finds_topic() or self.is_over():
            return
        raise UsageError(self._no_topic(name))

    def _finds_without_opening(self) -> bool:
        """List, up to the first object that settles it."""
        with closing(self.source.list(self.unreadable.append)) as listing:  # type: ignore[type-var]
            for stored in listing:
                if self.is_over():
                    return False
                folder, _, name = stored.path.rpartition("/")
                named = offload_name(name)
                if named is None:
                    if kind_of(folder, name) or role_of(folder, name) in ("entry log", "journal"):
                        return True  # what it is of, only the inventory knows
                    self.others.add(stored.path)
                    continue
                ledger_id, uuid, role = named
                self.ledgers += 1
                if not self.scope.holds_id(ledger_id):
                    continue
                if not self.scope.topics:
                    return True
                if role == "index":
                    self.indexes[ledger_id, uuid, folder] = stored
                else:
                    self.data.add((ledger_id, uuid, folder))
        return False

    def _finds_topic(self) -> bool:
        """Whether an index names a topic of the scope, or none where anything else may."""
        if self.data - self.indexes.keys():
            return True
        with ThreadPoolExecutor(THREADS, "first look") as pool:
            for some in groups_of(self.indexes.items(), THREADS):
                if self.is_over():
                    break
                for topic in pool.map(self._topic_of, some):
                    if topic is None or self.scope.may_name(topic):
                        return True
                    self.topics.add(topic)
        return False

    def _topic_of(self, listed: tuple[tuple[int, str, str], StoredObject]) -> str | None:
        (ledger_id, uuid, _), index = listed
        return examine(self.source, Pair(ledger_id, uuid, None, index)).topic

    def _nothing(self, name: str) -> str:
        remedy = "name the folder, or the bucket and prefix, to which the broker offloads (objects <uuid>-ledger-<id>)"
        if self.unreadable:
            error = self.unreadable[0]
            return f"{name} cannot be listed: {printable([str(error)])[0]}: {_REMEDIES.get(error.reason, _REMEDY)}"
        if not self.others.count:
            return f"{name} is empty: {remedy}"
        others = counted(self.others.count, "other object")
        return (
            f"{name} holds no offloaded ledger, but {others}, such as {printable(self.others.examples)[0]!r}: {remedy}"
        )

    def _no_topic(self, name: str) -> str:
        globs = " or ".join(self.scope.topics)
        meant = get_close_matches(self.scope.topics[0], self.topics, 1, 0.3) or sorted(self.topics)
        topics = f"its ledgers are of {counted(len(self.topics), 'topic')}, such as {printable(meant)[0]}"
        return f"no ledger in {name} is of a topic that matches --topic {globs}: {topics}"
