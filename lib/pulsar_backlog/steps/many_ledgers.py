"""The inventory of a place with more objects than one process should hold: tasks read indexes and compare.

What was listed lies in files, and what tasks found of it in Spark's cache. The driver holds what the saved metadata
say, and of each stored ledger its id and topic.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.cluster.absent import findings_of_absent
from pulsar_backlog.cluster.values import ClusterState
from pulsar_backlog.findings import Finding
from pulsar_backlog.frames.inventory.attempts import OBJECTS_OF_TASK, found_ledgers, listed_objects
from pulsar_backlog.frames.inventory.comparison import Comparison, compare_ledgers
from pulsar_backlog.frames.inventory.ownership import owned_rows, ownership_of, tallies_of
from pulsar_backlog.frames.inventory.sides import claims_frame, other_storage_frame
from pulsar_backlog.frames.packed import unpacked
from pulsar_backlog.ledgers.copies import Examined
from pulsar_backlog.ledgers.listing import Listing
from pulsar_backlog.ledgers.sorted_ids import LedgerIds, LedgerTopics
from pulsar_backlog.ledgers.store import Source
from pulsar_backlog.ledgers.stored_objects import Upload
from pulsar_backlog.ledgers.survey import survey
from pulsar_backlog.reconciliation.compare import stored_besides
from pulsar_backlog.reconciliation.findings import findings_of_inventory
from pulsar_backlog.reconciliation.judge import Knowledge, claims_of
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.findings import findings_frame
from pulsar_backlog.steps.gone_ledgers import Missing, note_gone
from pulsar_backlog.steps.internal_ledgers import store_internal_copies
from pulsar_backlog.steps.known_state import scope_in, state_of
from pulsar_backlog.tableio.table_logs import tasks_share_disk
from pulsar_backlog.tableio.work_size import prepare_for_many
from pulsar_backlog.tables import TABLES


@dataclass(frozen=True)
class Listed:
    """What was listed.

    Attributes:
        source: of what.
        listing: all but the objects that were spilled.
        spill: where those are.
        uploads: that were never finished.
        findings: of the listing of uploads.
    """

    source: Source
    listing: Listing
    spill: Path
    uploads: Sequence[Upload]
    findings: Sequence[Finding]


def take_many(context: JobContext, listed: Listed) -> dict[str, int]:
    """Examine, compare, write; rows by table."""
    listing, source = listed.listing, listed.source
    prepare_for_many(context.spark, -(-listing.spilled // OBJECTS_OF_TASK))
    objects = listed_objects(context.spark, listed.spill, tasks_share_disk())
    attempts = context.cache(found_ledgers(objects, source, listing.spilled))
    is_stored = f.col("copies").isNotNull().alias("is_stored")
    ledgers = attempts.select("ledger_id", "topic", "strays", is_stored).toArrow()
    for path in pc.list_flatten(ledgers["strays"]).to_pylist():
        listing.foreign.add(path)
    surveyed = survey(source, listing)
    topics = ChainMap(surveyed.topics(), cast(dict[int, str], LedgerTopics(ledgers)))
    state = state_of(context, topics)
    by = Comparison(context.cluster, context.job, scope_in(context), Knowledge.of(state) if state else None)
    uploads_and_streams = stored_besides(listed.uploads, surveyed.streamed)
    other_storage = other_storage_frame(context.spark, surveyed.attempts, uploads_and_streams)
    claims = claims_frame(context.spark, claims_of(state) if state else (), by.facts.compacted if by.facts else ())
    comparison = context.cache(compare_ledgers(attempts, claims, other_storage, by))
    in_files = pa.array([one.pair.ledger_id for one in surveyed.attempts], pa.int64())
    in_objects = ledgers.filter(ledgers["is_stored"])["ledger_id"]
    stored = LedgerIds(pa.chunked_array([*in_objects.chunks, in_files]))
    del ledgers, topics
    findings = [*surveyed.findings, *listed.findings, *(state.findings if state else ())]
    missing = note_gone(context, by.scope, stored, findings, state)
    findings += missing.findings
    return _write(context, comparison, by, findings, state, stored, missing, surveyed.internal)


def _write(
    context: JobContext,
    comparison: DataFrame,
    by: Comparison,
    findings: list[Finding],
    state: ClusterState | None,
    stored: LedgerIds,
    missing: Missing,
    internal: Sequence[Examined],
) -> dict[str, int]:
    """Replace what the tables say of the ledgers within the scope."""
    rows = unpacked(comparison, "ledgers")
    inside = None if by.scope.is_everything else context.cache(rows.select("ledger_id").distinct())
    counts = {"ledgers": _replace(context, "ledgers", rows, inside, missing)}
    ownership = ownership_of(unpacked(comparison, "inventory"))
    owned = context.cache(owned_rows(comparison, ownership, by.scope))
    rows = unpacked(owned, "inventory")
    store_internal_copies(context, internal)
    counts["inventory"] = _replace(
        context, "inventory", rows, None if inside is None else rows.select("ledger_id").distinct(), missing
    )
    if state is not None:
        findings += [
            *findings_of_absent(state, stored),
            *findings_of_inventory(tallies_of(owned), not any(one.code == "S02" for one in findings)),
        ]
    _replace_findings(context, unpacked(comparison, "findings"), findings, stored, inside)
    return counts | {"findings": context.rows("findings")}


def _replace(context: JobContext, name: str, rows: DataFrame, inside: DataFrame | None, missing: Missing) -> int:
    """Replace the cluster's rows of a table, or where not all was asked for, of the ledgers in `inside`; how many."""
    old = context.store.frame(TABLES[name]).filter(context.slice.column())
    if inside is not None:
        others = old.join(inside, on="ledger_id", how="left_anti")
        rows = rows.unionByName(others.join(_ids(context, missing.gone), on="ledger_id", how="left_anti"))
    elif missing.unseen:
        rows = rows.unionByName(old.join(_ids(context, missing.unseen), on="ledger_id", how="left_semi"))
    return context.replace(name, rows)


def _ids(context: JobContext, ids: Sequence[int]) -> DataFrame:
    return context.spark.createDataFrame(pa.table({"ledger_id": pa.array(ids, pa.int64())}))


def _replace_findings(
    context: JobContext, attempts: DataFrame, findings: list[Finding], stored: LedgerIds, inside: DataFrame | None
) -> None:
    """Replace what this job found; what it found of ledgers that were not asked for now stays."""
    part = context.slice.where(job=context.job)
    if inside is None:
        context.store.replace(TABLES["findings"], attempts.unionByName(findings_frame(context, findings)), part)
        return
    ids = LedgerIds(inside.toArrow()["ledger_id"])
    findings = [one for one in findings if one.ledger_id is None or one.ledger_id in ids or one.ledger_id not in stored]
    if not len(ids.ids):
        findings.append(nothing_in_scope())
    left_out = context.spark.createDataFrame(pa.table({"ledger_id": np.setdiff1d(stored.ids, ids.ids)}))
    old = context.store.frame(TABLES["findings"]).filter(part.column())
    old_rows = old.join(left_out, on="ledger_id", how="left_semi")
    rows = attempts.unionByName(findings_frame(context, findings)).unionByName(old_rows)
    context.store.replace(TABLES["findings"], rows, part)


def nothing_in_scope() -> Finding:
    """That no ledger is what was asked for."""
    words = "No ledger in the source is within --topic, --ledger, --since and --until."
    return Finding("S01", "options", words)
