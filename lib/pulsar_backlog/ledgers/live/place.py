"""A live cluster as a place of ledgers: listed by a snapshot of it, read from its brokers."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

import numpy as np

from pulsar_backlog.cluster.access import Access, read_access
from pulsar_backlog.cluster.admin_http import AdminError, AdminHttp
from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.cluster.admin_rest import AdminRest
from pulsar_backlog.cluster.snapshot_index import saved_entries
from pulsar_backlog.cluster.values import LedgerRecord, TopicState
from pulsar_backlog.errors import SourceError, UsageError
from pulsar_backlog.ledgers.live.reading import Pace, Range
from pulsar_backlog.ledgers.live.service import Live
from pulsar_backlog.ledgers.live.values import Hidden, Sent, entry_at, live_ledger, stored_ledger
from pulsar_backlog.ledgers.stored_objects import Fetched, StoredObject
from pulsar_backlog.protocol.connection import Connection, Service
from pulsar_backlog.protocol.lookup import connection_to_owner
from pulsar_backlog.protocol.reader import PERMITS
from pulsar_backlog.wire.arrays import Bytes

AHEAD_BYTES = 4 * 1024 * 1024
"""What a broker may send ahead of what was taken, about."""
NEAR = 16
"""Entries between two that are read one by one, at most, for which the same reader goes on."""


def access_of(live: Live) -> Access:
    """What proves who we are, from the files that are named.

    Raises:
        UsageError: a file cannot be read, or the token is none.
    """
    names = (live.token_file, live.ca_file, live.cert_file, live.key_file)
    token_file, ca_file, cert_file, key_file = (Path(name) if name else None for name in names)
    return read_access(
        token_file, ca_file, cert_file, key_file, live.timeout_seconds, os.environ,
        token_without_tls=live.token_without_tls, broker_hosts=live.broker_hosts,
    )  # fmt: skip


class LivePlace:
    """Topics of one cluster."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._pace = Pace(live.max_rate)
        self._lock = threading.Lock()
        self._near: _Near | None = None

    def uri(self, path: str) -> str:
        """Where `path` lies, for people."""
        return f"{self._live.service_url}/{path}"

    def knock(self, topic: str) -> None:
        """Connect to the broker that serves a topic, and go.

        Raises:
            SourceError: there is no way, or it does not let us in.
        """
        self._connect(topic).close()

    def list(self, on_error: Callable[[SourceError], None]) -> Iterator[StoredObject]:
        """Ledgers with confirmed entries, as the snapshot says."""
        if self._live.snapshot is None:
            raise UsageError(
                f"{self._live.service_url}: the audit must know what its topics hold: make a snapshot with "
                "pulsar-backlog snapshot, "
                "and name its folder with --admin"
            )
        for entry in saved_entries(Path(self._live.snapshot)):
            if entry.status == "failed":
                on_error(SourceError(self.uri(entry.topic), "failed", entry.note or "it could not be asked"))
        for topic in read_cluster_state(Path(self._live.snapshot), {}).topics.values():
            for ledger in topic.ledgers:
                if count := _entries(topic, ledger):
                    size = ledger.size_bytes if ledger.size_bytes is not None else topic.open_bytes
                    yield stored_ledger(topic.topic, ledger.ledger_id, count, size or 0)

    def found(self, path: str, first: int, last: int, average_bytes: int) -> Iterator[Sent | Hidden]:
        """Entries of a ledger from `first` to `last`, as `Range.found` gives them.

        Raises:
            SourceError: they cannot be read.
        """
        named = live_ledger(path)
        if named is None:
            raise SourceError(self.uri(path), "not_found", "this is not a ledger of a live topic")
        permits = max(1, min(5 * PERMITS, AHEAD_BYTES // max(1, average_bytes)))
        timeout = self._live.timeout_seconds
        return Range(self._connect, self._rest, self._pace, *named, first, last, permits, timeout).found()

    def entries(self, path: str, first: int, last: int, average_bytes: int) -> Iterator[tuple[int, bytes] | Hidden]:
        """The same, one by one: ids and bytes.

        Raises:
            SourceError: they cannot be read.
        """
        for one in self.found(path, first, last, average_bytes):
            yield from (one,) if isinstance(one, Hidden) else one.each()

    def read(self, path: str, start: int, end: int) -> Bytes:
        """Bytes of one entry."""
        entry_id, at = entry_at(start)
        with self._lock:
            data = self._entry(path, entry_id)
        return np.frombuffer(data, dtype=np.uint8)[at : at + end - start]

    def ahead(self, path: str, start: int, end: int) -> AbstractContextManager[_Stretch]:
        """The same; entries are read ahead by `entries`."""
        del start, end
        return nullcontext(_Stretch(self, path))

    def unfinished(self) -> None:
        """Brokers keep no uploads."""
        return None

    def fetch(self, path: str, max_bytes: int) -> Fetched:
        """Nothing of a live ledger is fetched whole."""
        raise SourceError(self.uri(path), "failed", f"no object of at most {max_bytes} bytes")

    def user_metadata(self, path: str) -> Mapping[str, str]:
        """Nothing: a ledger's name says what it is."""
        del path
        return {}

    def _entry(self, path: str, entry_id: int) -> bytes:
        if self._near is None or not self._near.reaches(path, entry_id):
            self._near = _Near(path, entry_id, self.entries(path, entry_id, 1 << 35, AHEAD_BYTES // NEAR))
        try:
            return self._near.entry(entry_id)
        except SourceError:
            self._near = None
            raise

    def _connect(self, topic: str) -> Connection:
        try:
            return connection_to_owner(Service(self._live.service_url, self._access), topic, self._may_follow)
        except UsageError as error:
            raise SourceError(self._live.service_url, "failed", str(error)) from None

    def _may_follow(self, host: str) -> bool:
        return host in self._hosts or any(fnmatchcase(host, glob.lower()) for glob in self._live.broker_hosts)

    @cached_property
    def _access(self) -> Access:
        return access_of(self._live)

    @cached_property
    def _rest(self) -> AdminRest:
        # An entry that the broker does not give is told by an error: asking again would only cost time.
        return AdminRest(AdminHttp(self._live.admin_url, replace(self._access, attempts=1)))

    @cached_property
    def _hosts(self) -> frozenset[str]:
        """Hosts of the cluster's own list of brokers; none where the role may not ask for it."""
        try:
            return frozenset(name.rpartition(":")[0].lower() for name in self._rest.brokers())
        except AdminError:
            return frozenset()


class _Near:
    """Entries of one ledger that are read one by one: ascending, and close together."""

    def __init__(self, path: str, first: int, entries: Iterator[tuple[int, bytes] | Hidden]) -> None:
        self._path, self._following, self._entries = path, first, entries
        self._newest: tuple[int, bytes] | Hidden | None = None

    def reaches(self, path: str, entry_id: int) -> bool:
        """Whether the entry is the newest one that was read, or one that follows soon."""
        return path == self._path and -1 <= entry_id - self._following <= NEAR

    def entry(self, entry_id: int) -> bytes:
        """The entry's bytes.

        Raises:
            SourceError: it cannot be read.
        """
        while self._newest is None or self._following <= entry_id:
            self._newest = next(self._entries)
            self._following += 1
        if isinstance(self._newest, Hidden):
            said = f"the broker does not send it: {self._newest.found}"
            raise SourceError(f"{self._path}:{entry_id}", "not_found", said)
        return self._newest[1]


class _Stretch:
    """A ledger that is read from front to back."""

    def __init__(self, place: LivePlace, path: str) -> None:
        self._place, self._path = place, path

    def read(self, start: int, end: int) -> Bytes:
        """Bytes of one entry."""
        return self._place.read(self._path, start, end)


def _entries(topic: TopicState, ledger: LedgerRecord) -> int:
    """Confirmed entries of a ledger; none where nothing says how many."""
    if ledger.entries is not None:
        return ledger.entries
    if topic.last_confirmed is not None and topic.last_confirmed[0] == ledger.ledger_id:
        return topic.last_confirmed[1] + 1
    return 0
