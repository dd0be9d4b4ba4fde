"""A live cluster as a place of ledgers: listed by a snapshot of it, read from its brokers."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import numpy as np

from pulsar_backlog.cluster.access import Access, read_access
from pulsar_backlog.cluster.admin_http import AdminError, AdminHttp
from pulsar_backlog.cluster.admin_json import read_cluster_state
from pulsar_backlog.cluster.admin_rest import AdminRest
from pulsar_backlog.cluster.patience import Patience
from pulsar_backlog.cluster.snapshot_index import saved_entries
from pulsar_backlog.cluster.values import LedgerRecord, TopicState
from pulsar_backlog.errors import SourceError, UsageError
from pulsar_backlog.findings.kinds import SNAPSHOT
from pulsar_backlog.ledgers.live.listed import Gone, ListedLedgers
from pulsar_backlog.ledgers.live.reading import Limits, Range
from pulsar_backlog.ledgers.live.run_folder import RunFolder
from pulsar_backlog.ledgers.live.service import Live
from pulsar_backlog.ledgers.live.values import Hidden, Sent, entry_at, live_ledger, stored_ledger
from pulsar_backlog.ledgers.stored_objects import Fetched, StoredObject
from pulsar_backlog.protocol.addresses import ClientError, NoConnectionError
from pulsar_backlog.protocol.connection import Connection, Service
from pulsar_backlog.protocol.lookup import connection_to_owner
from pulsar_backlog.protocol.reader import PERMITS
from pulsar_backlog.wire.arrays import Bytes
from pulsar_backlog.wire.names import is_segment

AHEAD_BYTES = 4 * 1024 * 1024
"""What a broker may send ahead of what was taken, about."""
AHEAD_SECONDS = 0.125
"""And for how long at most, at the rate that is allowed."""
RATE_SHARE = 0.95
"""Of the rate that is used: what brokers send ahead comes before it is counted."""
_LEAST_SECONDS = 0.05
NEAR = 16
"""Entries between two that are read one by one, at most, for which the same reader goes on."""

_Entries: TypeAlias = Generator[tuple[int, bytes] | Hidden, None, None]


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
        self._run = RunFolder(Path(live.run_folder) if live.run_folder else None, live.timeout_seconds)
        self._pace = self._run.pace(max(1, int(live.max_rate * RATE_SHARE)))
        self._listed = ListedLedgers(lambda topic: self._rest.object_of(topic, "internalStats"))
        self._owners: dict[str, str] = {}
        self._lock = threading.Lock()
        self._near: _Near | None = None
        self._ends: dict[str, tuple[int, SourceError]] = {}

    def uri(self, path: str) -> str:
        """Where `path` lies, for people."""
        return f"{self._live.service_url}/{path}"

    def knock(self, topic: str) -> None:
        """Connect to the broker that serves a topic, and go.

        Raises:
            SourceError: there is no way, or it does not let us in.
        """
        self.connect(topic, self._live.timeout_seconds).close()

    def list(self, on_error: Callable[[SourceError], None]) -> Iterator[StoredObject]:
        """Ledgers with confirmed entries, as the snapshot says."""
        if self._live.snapshot is None:
            raise UsageError(
                f"{self._live.service_url}: the audit must know what its topics hold: make a snapshot with "
                f"{SNAPSHOT}, and name its folder with --admin"
            )
        for entry in saved_entries(Path(self._live.snapshot)):
            if entry.status == "failed":
                on_error(SourceError(self.uri(entry.topic), "failed", entry.note or "it could not be asked"))
        for topic in read_cluster_state(Path(self._live.snapshot), {}).topics.values():
            for ledger in topic.ledgers:
                if count := _entries(topic, ledger):
                    size = ledger.size_bytes if ledger.size_bytes is not None else topic.open_bytes
                    yield stored_ledger(topic.topic, ledger.ledger_id, count, size or 0)

    def stretches(self, path: str, first: int, last: int, average_bytes: int) -> Iterator[Sent | Hidden]:
        """Entries of a ledger from `first` to `last`, as `Range.found` gives them.

        Raises:
            SourceError: they cannot be read.
        """
        named = live_ledger(path)
        if named is None:
            raise SourceError(self.uri(path), "not_found", "this is not a ledger of a live topic")
        ahead_bytes = min(AHEAD_BYTES, int(self._live.max_rate * AHEAD_SECONDS))
        permits = max(1, min(5 * PERMITS, ahead_bytes // max(1, average_bytes)))
        limits = Limits(self._pace, min(self._live.min_rate, self._live.max_rate), permits)
        return Range(self, self._run, limits, *named, first, last).stretches()

    def entries(self, path: str, first: int, last: int, average_bytes: int) -> _Entries:
        """The same, one by one: ids and bytes.

        Raises:
            SourceError: they cannot be read.
        """
        for one in self.stretches(path, first, last, average_bytes):
            yield from (one,) if isinstance(one, Hidden) else one.each()

    def read(self, path: str, start: int, end: int) -> Bytes:
        """Bytes of one entry."""
        entry_id, at = entry_at(start)
        with self._lock:
            data = self._entry(path, entry_id)
        return np.frombuffer(data, dtype=np.uint8)[at : at + end - start]

    def rest(self) -> None:
        """End the connection that is kept for entries that may follow: brokers show a reader as long as it is there."""
        with self._lock:
            if self._near is not None:
                self._near.close()
            self._near = None

    def ahead(self, path: str, start: int, end: int, sparing_bytes: int = 0) -> AbstractContextManager[_Stretch]:
        """The same; entries are read ahead by `entries`."""
        del start, end, sparing_bytes
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
        end = self._ends.get(path)
        if end is not None and entry_id >= end[0]:
            raise end[1].with_traceback(None)
        if self._near is None or not self._near.reaches(path, entry_id):
            self._near = _Near(path, entry_id, self.entries(path, entry_id, 1 << 35, AHEAD_BYTES // NEAR))
        try:
            entry = self._near.entry(entry_id)
        except SourceError as error:
            self._near = None
            self._ends[path] = (entry_id, error)  # whoever wants what follows need not wait again
            raise
        if isinstance(entry, Hidden):
            raise SourceError(f"{path}:{entry_id}", "not_found", f"the broker does not send it: {entry.found}")
        return entry[1]

    def connect(self, topic: str, seconds: float) -> Connection:
        """A connection to the broker that serves a topic.

        Raises:
            ClientError: there is none within so many seconds.
        """
        access = replace(self._access, timeout_seconds=min(self._access.timeout_seconds, max(_LEAST_SECONDS, seconds)))
        service = Service(self._live.service_url, access, time.monotonic() + seconds)

        def check(url: str) -> None:
            self._owners[topic] = url
            if closed := self._run.patience(url).closed:
                raise ClientError(url, "unreachable", closed)

        try:
            return connection_to_owner(service, topic, self._may_follow, check)
        except NoConnectionError as error:
            self._owners[topic] = error.uri
            raise
        except UsageError as error:
            raise ClientError(self._live.service_url, "failed", str(error)) from None

    def patience(self, topic: str) -> Patience:
        """With the broker that serves a topic, as far as is known; else with whom is asked for it."""
        return self._run.patience(self._owners.get(topic, self._live.service_url))

    def gone(self, topic: str, ledger_id: int, *, ask: bool) -> Gone | None:
        """Why a ledger is not there any more, as `ListedLedgers.gone` says it; of segments no list tells."""
        return None if is_segment(topic) else self._listed.gone(topic, ledger_id, ask=ask)

    def entry_headers(self, topic: str, ledger_id: int, entry_id: int) -> Mapping[str, str]:
        """What the admin API says of an entry beside its payload; raises `AdminError`, also of segments."""
        if is_segment(topic):
            raise AdminError(self.uri(topic), "not_found", "no admin address tells of entries of segments")
        return self._rest.entry_headers(topic, ledger_id, entry_id)

    def _may_follow(self, host: str) -> bool:
        return host in self._hosts or any(fnmatchcase(host, glob.lower()) for glob in self._live.broker_hosts)

    @cached_property
    def _access(self) -> Access:
        return access_of(self._live)

    @cached_property
    def _rest(self) -> AdminRest:
        # An entry that the broker does not give is told by an error: asking again would only cost time.
        url = self._live.admin_url
        return AdminRest(AdminHttp(url, replace(self._access, attempts=1), patience=self._run.patience(url)))

    @cached_property
    def _hosts(self) -> frozenset[str]:
        """Hosts of the cluster's own list of brokers; none where the role may not ask for it."""
        try:
            return frozenset(name.rpartition(":")[0].lower() for name in self._rest.brokers())
        except AdminError:
            return frozenset()


class _Near:
    """Entries of one ledger that are read one by one: ascending, and close together."""

    def __init__(self, path: str, first: int, entries: _Entries) -> None:
        self._path, self._following, self._entries = path, first, entries
        self._newest: tuple[int, bytes] | Hidden | None = None

    def close(self) -> None:
        """Read no further."""
        self._entries.close()

    def reaches(self, path: str, entry_id: int) -> bool:
        """Whether the entry is the newest one that was read, or one that follows soon."""
        return path == self._path and -1 <= entry_id - self._following <= NEAR

    def entry(self, entry_id: int) -> tuple[int, bytes] | Hidden:
        """The entry: its id and bytes, or why the broker does not send it.

        Raises:
            SourceError: it cannot be read.
        """
        while self._newest is None or self._following <= entry_id:
            self._newest = next(self._entries)
            self._following += 1
        return self._newest


class _Stretch:
    """A ledger that is read from front to back."""

    def __init__(self, place: LivePlace, path: str) -> None:
        self._place, self._path = place, path

    def read(self, start: int, end: int) -> Bytes:
        """Bytes of one entry."""
        return self._place.read(self._path, start, end)

    def continue_with(self, following: object) -> None:
        """Nothing: brokers send a ledger's entries when they are read."""


def _entries(topic: TopicState, ledger: LedgerRecord) -> int:
    """Confirmed entries of a ledger; none where nothing says how many."""
    if ledger.entries is not None:
        return ledger.entries
    if topic.last_confirmed is not None and topic.last_confirmed[0] == ledger.ledger_id:
        return topic.last_confirmed[1] + 1
    return 0
