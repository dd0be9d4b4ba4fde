"""Which ledgers a source holds. Those of live topics are listed by saved state, or by a snapshot that is taken now."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from glob import escape
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from weakref import finalize

from pulsar_backlog.api.ledger_times import with_ends
from pulsar_backlog.api.wanted import Wanted
from pulsar_backlog.arguments import live_of, source_of
from pulsar_backlog.cluster.layouts import migrated_topics
from pulsar_backlog.cluster.values import ClusterState
from pulsar_backlog.ledgers.copies import Examined
from pulsar_backlog.ledgers.inventory import ClusterRecords, Inventory, settle
from pulsar_backlog.ledgers.listing import take_listing
from pulsar_backlog.ledgers.survey import Survey, survey
from pulsar_backlog.ledgers.values import LedgerCopy
from pulsar_backlog.options import Options


class Listing:
    """The ledgers of a source, as saved state in a folder tells of them."""

    def __init__(self, options: Options, admin: str | None) -> None:
        self._options = options.model_copy(update={"admin": admin})

    @property
    def admin(self) -> str | None:
        """The folder of saved state."""
        return self._options.admin

    @cached_property
    def inventory(self) -> Inventory:
        """All stored copies."""
        return settle(self._survey, ClusterRecords.of(self._state) if self._state else ClusterRecords({}, {}))

    @cached_property
    def copies(self) -> list[LedgerCopy]:
        """Those that are read, in the order of topic and ledger."""
        ordered = sorted(self.inventory.copies, key=lambda copy: (copy.topic or "", copy.ledger_id))
        return [copy for copy in with_ends(ordered) if copy.selected and copy.data_uri is not None]

    def with_migrated(self, wanted: Wanted) -> Wanted:
        """The same choice; the name of a scalable topic chooses the topics too that were migrated to it."""
        layouts = self._state.layouts if wanted.topics and self._state else {}
        return replace(wanted, migrated=tuple(migrated_topics(layouts.values()).items()))

    @cached_property
    def _survey(self) -> Survey:
        source = source_of(self._options, live_of(self._options))
        return survey(source, take_listing(source))

    @cached_property
    def _state(self) -> ClusterState | None:
        if self.admin is None:
            return None
        from pulsar_backlog.cluster.required_state import required_state  # noqa: PLC0415 - HTTP, for saved state alone

        return required_state(Path(self.admin), self._survey.topics())


class Listings:
    """Makes each listing once.

    A listing of live topics is of those that are asked for: a cluster has many. Its snapshot goes away with this value.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        live = live_of(options)
        self._live = live if options.admin is None else None
        self._made: dict[tuple[str, ...], Listing] = {}

    @property
    def internal(self) -> list[Examined]:
        """Ledgers without messages: brokers give out none."""
        return [] if self._live is not None else list(self.of().inventory.internal)

    def of(self, topics: tuple[str, ...] = ()) -> Listing:
        """The ledgers of at least these topics, which are globs; none is all.

        Raises:
            UsageError: no live topic matches, or its cluster cannot be reached.
        """
        globs = topics if self._live is not None else ()
        if globs not in self._made:
            self._made[globs] = Listing(self._options, self._admin(globs))
        return self._made[globs]

    def of_topic(self, topic: str | None) -> Listing:
        """The ledgers of at least one topic, by its full name; those of which nothing names one where it is None."""
        return self.of() if topic is None else self.of((escape(topic),))

    def _admin(self, globs: tuple[str, ...]) -> str | None:
        if self._live is None:
            return self._options.admin
        from pulsar_backlog.steps.live_snapshots import take_snapshot  # noqa: PLC0415 - HTTP, for live topics alone

        folder = mkdtemp(prefix="pulsar-backlog-live-")
        finalize(self, rmtree, folder, ignore_errors=True)
        take_snapshot(self._live, globs or ("*",), Path(folder) / "snapshot")
        return str(Path(folder) / "snapshot")
