"""What to put right, and how: a plan of actions with reason, evidence, sureness, size and undo. It changes nothing.

Reads: `stalls`, `chunks`, `chunked_messages`, `entries`, `subscriptions`, `topic_stats`; `repair_actions` of earlier
plans, so that nothing is published twice; `consumer_outcomes` where models are chosen; `messages` of an export; an
earlier audit's tables where acknowledgements are restored; the source in `runs` where messages go as they are stored.
Writes: `repair_plans`, `repair_actions`, repairs.html, and the plan with its payloads under `plans/` beside the tables.
Guarantees: an entry is acknowledged only when its message can certainly never be whole, or is exported and verified.
The same tables and choices make the same plan. What is collected is bounded; what did not fit waits for another plan.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pulsar_backlog.arguments import job_parser
from pulsar_backlog.errors import UsageError
from pulsar_backlog.findings import CATALOGUE, SEVERITIES
from pulsar_backlog.frames.repair import restore as repair_restore
from pulsar_backlog.frames.repair import rows as repair_rows
from pulsar_backlog.frames.repair import stored as repair_stored
from pulsar_backlog.ledgers.scope import Scope
from pulsar_backlog.options import Options, parse_duration_ms
from pulsar_backlog.repair.applying.journal import open_journal
from pulsar_backlog.repair.applying.trail import action_rows, plan_state, read_verdicts
from pulsar_backlog.repair.planning.folder import Payload, store_plan
from pulsar_backlog.repair.planning.plan import Planned, plan_repair
from pulsar_backlog.repair.planning.rows import missing_names, restored_of, stored_of, topic_facts
from pulsar_backlog.repair.planning.values import Choices, Restored, Stored
from pulsar_backlog.report.repair_page import PAGE_NAME, render_repairs
from pulsar_backlog.report.terminal.repair import HeldBackRow, PlanView, print_plan
from pulsar_backlog.storage.delta import exists, local_out, read_table, table_version
from pulsar_backlog.storage.repairs import history, plan_row, write_trail
from pulsar_backlog.storage.runs import JobContext, JobResult, fingerprint, run_job, scanned_source
from pulsar_backlog.tables import TABLES
from pulsar_backlog.whole_files import replacing

JOB = "plan_repair"
INPUTS = ("stalls", "chunks", "chunked_messages", "entries", "subscriptions", "consumer_outcomes", "topic_stats")
PLANS = "plans"
_CHOICES = (
    "topic", "subscription", "code", "severity", "min_age", "max_count", "max_bytes", "model", "republish_to",
    "accept_unsure", "exported", "earlier", "as_stored", "message",
)  # fmt: skip
_SHOWN_REASONS = 50


def arg_parser() -> argparse.ArgumentParser:
    """The options of this job."""
    return job_parser(JOB, __doc__ or "")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the job; returns its exit code."""
    return run_job(JOB, arg_parser(), argv, lambda context: plan(context, print_plan))


def plan(context: JobContext, use: Callable[[PlanView], None]) -> JobResult:
    """Make the plan, hand what it says to `use`, and write it; a plan without actions is not written."""
    folder = local_out(context.out)
    if folder is None:
        raise UsageError(f"--out {context.out}: the plan is written to a local folder; give one")
    if not exists(context.spark, context.out, TABLES["stalls"]):
        raise UsageError(f"{context.out} says nothing of subscriptions: audit with --admin first")
    sources = _Sources(context)
    planned = sources.planned()
    inputs = {name: table_version(context.spark, context.out, TABLES[name]) for name in (*INPUTS, "messages")}
    digest = fingerprint(context.options, {"plan": planned.plan.plan_id, **inputs})
    at = folder / PLANS / planned.plan.plan_id
    held = held_back_rows(planned)
    if not planned.plan.actions:
        use(PlanView(planned.plan.plan_id, None, "planned", (), held, planned.left_off))
        return JobResult(digest)
    is_new = not at.is_dir()
    store_plan(at, planned, sources.payloads(planned))
    rows = action_rows(planned.plan, open_journal(at, planned.plan), read_verdicts(at))
    use(PlanView(planned.plan.plan_id, str(at), plan_state(rows), tuple(rows), held, planned.left_off))
    known = plan_row(context.spark, context.out, context.cluster, planned.plan.plan_id)
    if is_new or known is None:
        write_trail(context.spark, context.out, _plan_row(context, planned, rows, held, inputs), rows)
        write_page(context.spark, context.out, context.cluster)
        return JobResult(digest, rows={"repair_plans": 1, "repair_actions": len(rows)})
    return JobResult(digest, changed=False)


def write_page(spark: SparkSession, out: str, cluster: str) -> None:
    """The page that shows all plans and what was done about them."""
    path = Path(local_out(out) or out) / PAGE_NAME
    with replacing(path) as part:
        part.write_text(render_repairs(cluster, *history(spark, out, cluster)), encoding="utf-8")


def held_back_rows(planned: Planned) -> tuple[HeldBackRow, ...]:
    """What is left alone by reason, the most frequent first."""
    counts = Counter((one.why, one.next_step) for one in planned.held_back)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(HeldBackRow(why, next_step, count) for (why, next_step), count in ordered)


def choices_of(options: Options, newest_ms: int | None) -> Choices:
    """What a command line asks for."""
    until_ms = None
    if options.min_age is not None and newest_ms is not None:
        until_ms = newest_ms - parse_duration_ms(options.min_age)
    codes = frozenset(options.code or ())
    if options.severity is not None:
        wanted = SEVERITIES[: SEVERITIES.index(options.severity) + 1]
        bad = frozenset(code for code, kind in CATALOGUE.items() if kind.severity in wanted)
        codes = codes & bad if codes else bad
    if options.severity is not None and not codes:
        raise UsageError(f"--code and --severity {options.severity}: no such code is that severe")
    if options.as_stored and options.republish_to == "file":
        raise UsageError("--as-stored publishes, and --republish-to file does not: give one of them")
    return Choices(
        republish_to=options.republish_to or "same",
        accept_unsure=options.accept_unsure,
        subscriptions=options.subscription or (),
        codes=codes,
        until_ms=until_ms,
        max_count=options.max_count,
        max_bytes=options.max_bytes,
        as_stored=bool(options.as_stored),
    )


@dataclass
class _Sources:
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
        options, keep = self.context.options, self.context.keep
        choices = choices_of(options, repair_rows.newest_ms(self._mine("topic_stats")))
        subscriptions = _rows(self._mine("subscriptions").filter(f.col("kind") == "subscription"))
        names = _matching(subscriptions, choices.subscriptions)
        stalls = keep(repair_rows.actionable_stalls(self._mine("stalls"), names, choices.codes, choices.until_ms))
        lost = keep(repair_rows.losses(self._mine("consumer_outcomes"), options.model or (), choices.until_ms))
        chunks, entries = self._mine("chunks"), self._mine("entries")
        named = keep(repair_stored.named_rows(self._named(), entries, chunks))
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
            named=self._found(named),
        )
        return plan_repair(self.context.cluster, facts, choices)

    def payloads(self, planned: Planned) -> dict[int, Payload]:
        """Where the payload of each message to publish lies: in its row, or in a file of the export."""
        if not planned.sources:
            return {}
        wanted = [(number, topic, uuid, time) for number, (topic, (uuid, time)) in planned.sources.items()]
        ddl = "number int, topic string, chunk_uuid string, publish_time_ms bigint"
        numbered = f.broadcast(self.context.spark.createDataFrame(wanted, ddl))
        rows = self._messages().join(numbered, on=["topic", "chunk_uuid", "publish_time_ms"], how="inner")
        folder = local_out(self._exported())
        found = {}
        for row in rows.select("number", "payload", "payload_file").toLocalIterator():
            file = None if row["payload_file"] is None or folder is None else folder / row["payload_file"]
            inline = None if row["payload"] is None else bytes(row["payload"])
            found[row["number"]] = Payload(inline, file)
        return found

    def _restored(self, names: Sequence[str] | None) -> list[tuple[str, Restored]]:
        earlier = self.context.options.earlier
        if earlier is None:
            return []
        if not exists(self.context.spark, earlier, TABLES["subscriptions"]):
            raise UsageError(f"--earlier {earlier} holds no audit with subscriptions")
        then = {name: self._mine(name, earlier) for name in ("subscriptions", "ack_ranges", "entries")}
        now = {name: self._mine(name) for name in ("subscriptions", "ack_ranges")}
        rows = repair_restore.restored_rows(then, now, names)
        return [(row["topic"], restored_of(row)) for row in _rows(rows)]

    def _named(self) -> DataFrame:
        pairs = [tuple(map(int, text.split(":"))) for text in dict.fromkeys(self.context.options.message or ())]
        named = self.context.spark.createDataFrame(pairs, "ledger_id bigint, entry_id bigint")
        return named if pairs else named.filter(f.lit(False))  # so Spark sees that it need not look through `entries`

    def _found(self, named: DataFrame) -> list[dict[str, Any]]:
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
        rows = repair_stored.stored_rows(publications, verdicts, named, entries, self._actions())
        return [(row, stored_of(row, source)) for row in _rows(rows)]

    def _source(self) -> str:
        """Where the audit read the entries from last.

        Raises:
            UsageError: it does not say.
        """
        source = scanned_source(self.context.spark, self.context.out, self.context.cluster)
        if source is None:
            raise UsageError(f"{self.context.out} does not say where its entries were read: audit again")
        return source

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
        return read_table(self.context.spark, out or self.context.out, TABLES[name])


def _matching(subscriptions: Sequence[dict[str, Any]], globs: Sequence[str]) -> list[str] | None:
    if not globs:
        return None
    names = sorted({row["subscription"] for row in subscriptions})
    found = [name for name in names if any(fnmatchcase(name, glob) for glob in globs)]
    if not found:
        raise UsageError(f"no subscription matches --subscription {' --subscription '.join(globs)}")
    return found


def _rows(frame: DataFrame) -> list[dict[str, Any]]:
    """A frame that is bounded, as dictionaries."""
    return [row.asDict(recursive=True) for row in frame.collect()]


def _plan_row(
    context: JobContext, planned: Planned, rows: list[dict[str, Any]], held: Sequence[HeldBackRow],
    inputs: dict[str, int],
) -> dict[str, Any]:  # fmt: skip
    plan_id = planned.plan.plan_id
    given = context.options.model_dump(include=set(_CHOICES), exclude_none=True)
    return {
        "cluster": context.cluster,
        "plan_id": plan_id,
        "made": context.started,
        "folder": f"{PLANS}/{plan_id}",
        "choices": {name: str(value) for name, value in given.items()},
        "inputs": inputs,
        "actions": len(rows),
        "entries": sum(one["entries"] for one in rows),
        "bytes": sum(one["bytes"] for one in rows),
        "left_off": planned.left_off,
        "held_back": [asdict(one) for one in held[:_SHOWN_REASONS]],
        "state": plan_state(rows),
    }


if __name__ == "__main__":
    sys.exit(main())
