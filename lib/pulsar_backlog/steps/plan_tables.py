"""The tables that a repair plan is made from, read as bounded rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.errors import UsageError
from pulsar_backlog.frames.repair import restore as repair_restore
from pulsar_backlog.frames.repair import rows as repair_rows
from pulsar_backlog.frames.repair import stored_messages
from pulsar_backlog.frames.repair.dead_letters import dead_letter_rows
from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.repair.planning.cut_off import more_cut_off
from pulsar_backlog.repair.planning.cut_off_values import CutOff, cut_off_of
from pulsar_backlog.repair.planning.folder import Payload
from pulsar_backlog.repair.planning.plan import Planned, plan_repair
from pulsar_backlog.repair.planning.rows import missing_names, restored_of, stored_of, topic_facts
from pulsar_backlog.repair.planning.values import Restored, Stored
from pulsar_backlog.report.earlier import Earlier
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.runs import scanned_source
from pulsar_backlog.steps.cut_off_messages import cut_off_messages
from pulsar_backlog.steps.known_state import earlier_state
from pulsar_backlog.steps.plan_choices import choices_of
from pulsar_backlog.tableio.beside import beside
from pulsar_backlog.tableio.living import living_rows
from pulsar_backlog.tableio.store import TableStore
from pulsar_backlog.tables import TABLES
from pulsar_backlog.terms import position_of

MAX_CUT_OFF = 1000
"""Messages behind the ends of ledgers that one plan looks at."""


@dataclass
class PlanTables:
    """The tables that a plan is made from."""

    context: JobContext

    def __post_init__(self) -> None:
        ledgers = self._whole("ledgers").filter(f.col("cluster") == self.context.cluster)
        self._topics: list[str] | None = None
        if self.context.options.topic:
            scope = Scope(topics=self.context.options.topic)
            rows = ledgers.select("topic").distinct().toLocalIterator()
            self._topics = sorted(row["topic"] for row in rows if scope.names(row["topic"]))
            if not self._topics:
                globs = " --topic ".join(self.context.options.topic)
                raise UsageError(f"no topic in {self.context.out} matches --topic {globs}")

    def planned(self) -> Planned:
        """The plan, from bounded rows."""
        options, keep = self.context.options, self.context.cache
        choices = choices_of(options, repair_rows.newest_ms(self._mine("topic_stats")))
        subscriptions = _rows(self._mine("subscriptions").filter(f.col("kind") == "subscription"))
        names = _matching(subscriptions, choices.subscriptions)
        stalls = keep(repair_rows.actionable_stalls(self._mine("stalls"), names, choices.codes, choices.until_ms))
        lost = keep(repair_rows.losses(self._mine("consumer_outcomes"), options.model or (), choices.until_ms))
        chunks, entries = self._mine("chunks"), self._mine("entries")
        named = keep(stored_messages.named_rows(self._named(), entries, chunks))
        verdicts = self._mine("chunked_messages")
        publications = keep(repair_rows.publication_rows(verdicts, stalls, lost, named))
        exports = repair_rows.export_rows(self._messages(), publications, chunks, self._actions())
        redelivered = repair_rows.redelivered_rows(stalls, self._mine("subscriptions"), entries)
        facts = topic_facts(
            stalls=_rows(repair_rows.stall_rows(stalls, chunks, entries)),
            publications=_rows(publications),
            exports=_rows(exports),
            subscriptions=subscriptions,
            settings=_rows(self._mine("topic_stats").select("topic", "recommended")),
            redelivered=_rows(redelivered),
            restored=self._restored(names),
            stored=self._stored(publications, named),
            named=self._stored_rows(named),
            dead_letters=_rows(dead_letter_rows(self._whole_messages(), exports)),
            cut_off=(cut_off := self._cut_off())[:MAX_CUT_OFF],
        )
        planned = plan_repair(self.context.cluster, facts, choices)
        held_back = (*planned.held_back, *more_cut_off(cut_off, MAX_CUT_OFF))
        return replace(planned, plan=replace(planned.plan, basis=self._basis()), held_back=held_back)

    def _cut_off(self) -> list[tuple[str, CutOff]]:
        if self.context.options.cut_off is None:
            return []
        rows = cut_off_messages(self.context, self._topics, MAX_CUT_OFF + 1)
        if not rows:
            return []
        source = self._source()
        actions = _rows(repair_rows.tried_originals(self._actions().filter(f.col("cause") == "cut_off")))
        tried = {(row["ledger_id"], row["entry_id"]): row["tried"] for row in actions}
        return [(row["topic"], cut_off_of(row, source, tried)) for row in rows]

    def _basis(self) -> str:
        """How old the saved state is, where an earlier audit was given it."""
        earlier = Earlier(earlier_state(self.context))
        return " ".join(earlier.sentences(round(self.context.started.timestamp() * 1000)))

    def payloads(self, planned: Planned) -> dict[int, Payload]:
        """Where the payload of each message to publish lies: in its row, or in a file of the export."""
        if not planned.sources:
            return {}
        wanted = [(number, topic, uuid, time) for number, (topic, (uuid, time)) in planned.sources.items()]
        ddl = "number int, topic string, chunk_uuid string, publish_time_ms bigint"
        numbered = f.broadcast(self.context.spark.createDataFrame(wanted, ddl))
        rows = self._messages().join(numbered, on=["topic", "chunk_uuid", "publish_time_ms"], how="inner")
        files = beside(self._exported())
        scratch = Path(self.context.resources.enter_context(TemporaryDirectory(prefix="pulsar-backlog-")))
        payloads = {}
        for row in rows.select("number", "payload", "payload_file").toLocalIterator():
            name = row["payload_file"]
            file = None if name is None else files.local(name, scratch / str(row["number"]))
            inline = None if row["payload"] is None else bytes(row["payload"])
            payloads[row["number"]] = Payload(inline, file)
        return payloads

    def _restored(self, names: Sequence[str] | None) -> list[tuple[str, Restored]]:
        earlier = self.context.options.earlier
        if earlier is None:
            return []
        if not self._store(earlier).exists(TABLES["subscriptions"]):
            raise UsageError(f"--earlier {earlier} holds no audit with subscriptions")
        then = {name: self._mine(name, earlier) for name in ("subscriptions", "ack_ranges", "entries")}
        now = {name: self._mine(name) for name in ("subscriptions", "ack_ranges")}
        rows = repair_restore.restored_rows(then, now, names)
        return [(row["topic"], restored_of(row)) for row in _rows(rows)]

    def _named(self) -> DataFrame:
        pairs = [position_of(text) for text in dict.fromkeys(self.context.options.message or ())]
        named = self.context.spark.createDataFrame(pairs, "ledger_id bigint, entry_id bigint")
        return named if pairs else named.filter(f.lit(False))  # so Spark sees that it need not look through `entries`

    def _stored_rows(self, named: DataFrame) -> list[dict[str, Any]]:
        """What lies where the user said.

        Raises:
            UsageError: nothing does.
        """
        rows = _rows(named)
        if missing := missing_names(rows):
            raise UsageError(f"no message of these topics lies at --message {' --message '.join(missing)}")
        return rows

    def _stored(self, publications: DataFrame, named: DataFrame) -> list[tuple[dict[str, Any], Stored]]:
        if not self.context.options.as_stored:
            return []
        source = self._source()
        entries, verdicts = self._mine("entries"), self._mine("chunked_messages")
        rows = stored_messages.stored_rows(publications, verdicts, named, entries, self._actions())
        return [(row, stored_of(row, source)) for row in _rows(rows)]

    def _source(self) -> str:
        """Where the audit read the entries from last.

        Raises:
            UsageError: it does not say.
        """
        source = scanned_source(self.context.store, self.context.cluster)
        if source is None:
            raise UsageError(f"{self.context.out} does not say where its entries were read: audit again")
        return source

    def _whole_messages(self) -> DataFrame:
        """Of all topics: a dead letter lies in another one."""
        return self._whole("messages", self._exported()).filter(f.col("cluster") == self.context.cluster)

    def _messages(self) -> DataFrame:
        return self._mine("messages", self._exported())

    def _actions(self) -> DataFrame:
        """Of all topics: a message may have been published to another one."""
        return self._whole("repair_actions").filter(f.col("cluster") == self.context.cluster)

    def _exported(self) -> str:
        return self.context.options.exported or self.context.out

    def _mine(self, name: str, out: str | None = None) -> DataFrame:
        return repair_rows.of_places(self._whole(name, out), self.context.cluster, self._topics)

    def _whole(self, name: str, out: str | None = None) -> DataFrame:
        return living_rows(self._store(out or self.context.out), TABLES[name])

    def _store(self, out: str) -> TableStore:
        return TableStore(out, self.context.store.begin)


def _matching(subscriptions: Sequence[dict[str, Any]], globs: Sequence[str]) -> list[str] | None:
    if not globs:
        return None
    names = sorted({row["subscription"] for row in subscriptions})
    matches = [name for name in names if any(fnmatchcase(name, glob) for glob in globs)]
    if not matches:
        raise UsageError(f"no subscription matches --subscription {' --subscription '.join(globs)}")
    return matches


def _rows(frame: DataFrame) -> list[dict[str, Any]]:
    """A frame that is bounded, as dictionaries."""
    return [row.asDict(recursive=True) for row in frame.collect()]
