"""Tables -> the small rows that a repair is planned from. They are bounded; the rest waits for another plan.

A position is looked up in `chunks` and `entries` again, whatever `stalls` says of it: it may be acknowledged away.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from pulsar_backlog.messages.provenance import ORIGINAL_ID_PROPERTY
from pulsar_backlog.subscriptions.stall_kinds import KINDS

MAX_STALLS = 5000
MAX_POSITIONS = 200_000
MAX_LOSSES = 5000
MAX_FAMILY = 1000
"""Publications of one uuid; of a larger family none is planned for."""

LOSS_OUTCOMES = ("silent_loss", "lost", "wrong_content", "mixed", "breaks_client")
"""Outcomes of a message that is whole in the log, after which the application does not have it as it was sent."""

_PUBLICATION = ("topic", "chunk_uuid", "publish_time_ms")
_STALL = (
    "topic", "subscription", "chunk_uuid", "publish_time_ms", "code", "kind", "also", "unacked_entries",
    "unacked_bytes", "acked_entries", "action", "first_chunk_ledger_id", "first_chunk_entry_id", "sureness", "reason",
    "advice", "can_complete",
)  # fmt: skip
_VERDICT = (
    *_PUBLICATION, "state", "rebuildable", "encrypted", "sureness", "reason", "num_chunks", "present_chunks",
    "stored_bytes",
)  # fmt: skip
_MESSAGE = (
    *_PUBLICATION, "ledger_id", "entry_id", "outcome", "verified", "reason", "transaction", "payload_sha256",
    "payload_bytes", "partition_key", "partition_key_b64_encoded", "ordering_key", "properties", "replicate_to",
    "schema_version", "schema_id",
)  # fmt: skip


def actionable_stalls(
    stalls: DataFrame, names: Iterable[str] | None, codes: frozenset[str], until_ms: int | None
) -> DataFrame:
    """The stalls that a plan may be about, in a fixed order, as many as fit; each with a `number`.

    Args:
        stalls: rows of `stalls`.
        names: subscriptions; None takes all.
        codes: of findings; empty takes all.
        until_ms: latest publish time; None takes all.
    """
    hopeless = [kind.name for kind in KINDS.values() if kind.remedy == "none"]
    chosen = stalls.filter((f.col("action") != "none") & ~f.col("kind").isin(hopeless))
    if names is not None:
        chosen = chosen.filter(f.col("subscription").isin(*names))
    if codes:
        chosen = chosen.filter(f.col("code").isin(*codes))
    if until_ms is not None:
        chosen = chosen.filter(f.col("publish_time_ms") <= until_ms)
    order = ("topic", "subscription", "chunk_uuid", "publish_time_ms")
    first = chosen.orderBy(*order).limit(MAX_STALLS)
    so_far = Window.orderBy(*order).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    counted = first.withColumn("positions", f.sum(f.size("unacked_positions")).over(so_far))
    numbered = counted.withColumn("number", f.row_number().over(Window.orderBy(*order)))
    return numbered.filter(f.col("positions") <= MAX_POSITIONS).select("number", *_STALL, "unacked_positions")


def stall_rows(stalls: DataFrame, chunks: DataFrame, entries: DataFrame) -> DataFrame:
    """Stalls with `entries`: each unacknowledged position, and what `chunks` and `entries` say of it."""
    position = f.explode("unacked_positions").alias("position")
    positions = stalls.select("number", "topic", position).select(
        "number", "topic", f.col("position.ledger_id"), f.col("position.entry_id")
    )
    owners = chunks.select(
        "topic", "ledger_id", "entry_id", f.col("chunk_uuid").alias("owner_uuid"),
        f.col("publish_time_ms").alias("owner_time_ms"), "role", "checksum_state",
    )  # fmt: skip
    bodies = entries.select(
        "topic", "ledger_id", "entry_id", f.col("num_messages_in_batch").isNotNull().alias("is_batch")
    )
    key = ["topic", "ledger_id", "entry_id"]
    with_owners = positions.join(owners, on=key, how="left").join(bodies, on=key, how="left")
    entry = f.struct(
        "ledger_id", "entry_id", "owner_uuid", "owner_time_ms", "role",
        (f.coalesce("checksum_state", f.lit("")) == "valid").alias("is_sound"),
        f.coalesce("is_batch", f.lit(True)).alias("holds_more"),
    )  # fmt: skip
    grouped = with_owners.groupBy("number").agg(f.sort_array(f.collect_list(entry)).alias("entries"))
    joined = stalls.drop("unacked_positions").join(grouped, on="number", how="left")
    return joined.orderBy("number").drop("number")


def losses(outcomes: DataFrame, models: Iterable[str], until_ms: int | None) -> DataFrame:
    """Publications that the models lose, as many as fit, with what each model makes of them."""
    lost = outcomes.filter(f.col("model").isin(*models) & f.col("outcome").isin(*LOSS_OUTCOMES))
    if until_ms is not None:
        lost = lost.filter(f.col("publish_time_ms") <= until_ms)
    reasons = f.sort_array(f.collect_list(f.struct("model", "outcome", "reason"))).alias("losses")
    return lost.groupBy(*_PUBLICATION).agg(reasons).orderBy(*_PUBLICATION).limit(MAX_LOSSES)


def publication_rows(publications: DataFrame, stalls: DataFrame, lost: DataFrame, named: DataFrame) -> DataFrame:
    """All publications of every uuid that a stall, a loss or the user names, with `losses`."""
    uuids = stalls.select("topic", "chunk_uuid").unionByName(lost.select("topic", "chunk_uuid"))
    uuids = uuids.unionByName(named.select("topic", "chunk_uuid")).distinct()
    members = publications.join(f.broadcast(uuids), on=["topic", "chunk_uuid"], how="left_semi").select(*_VERDICT)
    sized = members.withColumn("family", f.count("*").over(Window.partitionBy("topic", "chunk_uuid")))
    small = sized.filter(f.col("family") <= MAX_FAMILY).drop("family")
    return small.join(f.broadcast(lost), on=list(_PUBLICATION), how="left")


def export_rows(messages: DataFrame, publications: DataFrame, chunks: DataFrame, actions: DataFrame) -> DataFrame:
    """Exported messages of these publications, those that are made of chunks of the publication and nothing else.

    `republished` is `done`, `unclear` or `no`, by the `actions` of earlier plans and by the log itself.
    """
    ours = messages.filter(f.col("chunk_uuid").isNotNull()).drop("num_chunks")
    ours = ours.join(publications.select(*_PUBLICATION, "num_chunks"), on=list(_PUBLICATION), how="inner")
    position = f.explode("positions").alias("position")
    parts = ours.select(*_PUBLICATION, position).select(
        *_PUBLICATION, f.col("position.ledger_id"), f.col("position.entry_id")
    )
    owned = parts.join(
        chunks.select(*_PUBLICATION, "ledger_id", "entry_id", "chunk_id"),
        on=[*_PUBLICATION, "ledger_id", "entry_id"],
        how="inner",
    )
    counted = owned.groupBy(*_PUBLICATION).agg(f.count_distinct("chunk_id").alias("owned"))
    whole = ours.join(counted, on=list(_PUBLICATION), how="inner").filter(
        (f.col("owned") == f.size("positions")) & (f.col("owned") == f.col("num_chunks"))
    )
    copied = whole.join(_copied(messages), on=["ledger_id", "entry_id", "payload_sha256"], how="left")
    joined = copied.join(tried_originals(actions), on=["ledger_id", "entry_id"], how="left")
    return joined.select(
        *_MESSAGE[3:], *_PUBLICATION,
        republished("copied", "tried"),
        f.unix_millis("event_time").alias("event_time_ms"),
        f.col("encryption_key_names").isNotNull().alias("was_encrypted"),
    )  # fmt: skip


def tried_originals(actions: DataFrame) -> DataFrame:
    """Message ids of what plans published or began to, with `tried`: `done` or `unclear`."""
    tried = actions.filter((f.col("kind") == "republish") & ~f.col("state").isin("planned", "refused"))
    unclear = f.col("state").isin("begun", "failed", "not verified")
    state = f.when(unclear, "unclear").otherwise("done")
    # `done` comes before `unclear`: what one plan stored is there, whatever another began.
    return tried.groupBy(f.col("original.ledger_id"), f.col("original.entry_id")).agg(f.min(state).alias("tried"))


def copies_in_log(rows: DataFrame, *proof: Column | str) -> DataFrame:
    """What says in its properties that it is a copy: message id of the original (`of_ledger`, `of_entry`), and `proof`.

    Anyone may have written the property: a copy counts only where the proof is that of the original.
    """
    id_ = f.try_element_at("properties", f.lit(ORIGINAL_ID_PROPERTY))
    parts = f.split(id_, ":")
    return rows.filter(id_.rlike(r"\A\d{1,18}:\d{1,18}\z")).select(
        parts[0].cast("bigint").alias("of_ledger"), parts[1].cast("bigint").alias("of_entry"), *proof
    )


def republished(there: str, tried: str) -> Column:
    """`done`, `unclear` or `no`. `done` comes first: what is there is there, whatever a plan began."""
    return f.coalesce(f.least(there, tried), f.lit("no")).alias("republished")


def _copied(messages: DataFrame) -> DataFrame:
    """Message ids of originals with their hashes, of which the log holds a copy."""
    of_log = copies_in_log(messages, "payload_sha256").distinct()
    return of_log.select(
        f.col("of_ledger").alias("ledger_id"), f.col("of_entry").alias("entry_id"), "payload_sha256",
        f.lit("done").alias("copied"),
    )  # fmt: skip


def redelivered_rows(stalls: DataFrame, subscriptions: DataFrame, entries: DataFrame) -> DataFrame:
    """For each reset: entries of other messages from the first chunk to mark-delete, which it brings again."""
    resets = stalls.filter(f.col("action") == "reset_to_first_chunk")
    marks = subscriptions.select("topic", "subscription", "mark_delete_ledger_id", "mark_delete_entry_id")
    spans = resets.join(marks, on=["topic", "subscription"], how="inner").select(
        "topic", "subscription", "chunk_uuid", "publish_time_ms",
        f.struct(f.col("first_chunk_ledger_id").alias("l"), f.col("first_chunk_entry_id").alias("e")).alias("from"),
        f.struct(f.col("mark_delete_ledger_id").alias("l"), f.col("mark_delete_entry_id").alias("e")).alias("to"),
    )  # fmt: skip
    at = f.struct(f.col("ledger_id").alias("l"), f.col("entry_id").alias("e"))
    stored = entries.filter(f.col("marker_type").isNull()).select(
        "topic", at.alias("at"), f.col("uuid").alias("of_uuid"), f.col("publish_time_ms").alias("of_time_ms")
    )
    between = stored.join(f.broadcast(spans), on="topic", how="inner").filter(
        (f.col("at") >= f.col("from")) & (f.col("at") <= f.col("to"))
    )
    own = f.col("of_uuid").eqNullSafe(f.col("chunk_uuid")) & (f.col("of_time_ms") == f.col("publish_time_ms"))
    return between.filter(~own).groupBy("topic", "subscription", *_PUBLICATION[1:]).agg(f.count("*").alias("entries"))


def newest_ms(topic_stats: DataFrame) -> int | None:
    """When the newest entry of all was stored: what ages are counted back from. A clock would make plans differ."""
    row = topic_stats.agg(f.max(f.unix_millis("last_time")).alias("newest")).first()
    return None if row is None or row["newest"] is None else int(row["newest"])


def of_places(frame: DataFrame, cluster: str, topics: list[str] | None) -> DataFrame:
    """The rows of one cluster and of some topics; None takes all."""
    mine: Column = f.col("cluster") == cluster
    return frame.filter(mine if topics is None else mine & f.col("topic").isin(*topics))
