"""Findings about subscriptions: from their states one each, from stalls and the ends of logs one per topic and code."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.counting import counted
from pulsar_backlog.findings import Finding
from pulsar_backlog.frames.finding_rows import Origin, code_of, counted_findings
from pulsar_backlog.frames.subscriptions.rows import Analysed, span_entries
from pulsar_backlog.frames.subscriptions.stall_join import first_place
from pulsar_backlog.subscriptions.ledger_lengths import Lengths
from pulsar_backlog.subscriptions.stalls import CODES

OLD_HOLE_ENTRIES = 10_000
"""A mark-delete that lags this far behind the highest acknowledgement has a cause worth finding."""

_COUNTED = {
    "C23": "Chunked messages of which a subscription has acknowledged a part",
    "C24": "Sets of chunks in a subscription's backlog that no client can be delivered",
    "C25": "Sets of chunks that a Shared subscription cannot deliver",
    "C26": "Chunked messages that wait on a Key_Shared subscription",
    "C28": "Chunked messages of which the compacted topic keeps only the last chunk",
    "K07": "Whole chunked messages that a subscription passed over",
}


def findings_of_stalls(stalls: DataFrame, origin: Origin) -> DataFrame:
    """One finding per topic and code; positions are where each set begins, see `first_place`."""
    kinds = f.array_append("also", f.col("kind"))
    codes = f.array_distinct(f.array_compact(f.transform(kinds, lambda kind: code_of(kind, _codes()))))
    first = first_place()
    coded = stalls.select(
        "topic", first["ledger_id"].alias("ledger_id"), first["entry_id"].alias("entry_id"), "sureness", "reason",
        f.explode(codes).alias("code"),
    )  # fmt: skip
    return counted_findings(coded, _COUNTED, origin)


def _codes() -> dict[str, str]:
    return {kind: code for kind, code in CODES.items() if code} | {"compaction_truncation": "C28"}


def findings_of_batches(joined: DataFrame, origin: Origin) -> DataFrame:
    """K12 for each topic with batch indexes that the batches do not have."""
    bad = joined.filter(f.col("impossible")).select(
        "topic", "ledger_id", f.col("first_entry_id").alias("entry_id"), f.lit("certain").alias("sureness"),
        f.lit("compared with the stored batch").alias("reason"), f.lit("K12").alias("code"),
    )  # fmt: skip
    return counted_findings(bad, {"K12": "Entries whose batch is smaller than the acknowledged indexes say"}, origin)


def findings_of_state(one: Analysed, lengths: Lengths) -> Iterator[Finding]:
    """What the predictions say of one subscription."""
    if one.found is None or one.prediction is None:
        return
    p = one.prediction
    if p.dropped_entries or p.dropped_batch_entries:
        dropped = f"{counted(p.dropped_ranges, 'range')} with {counted(p.dropped_entries, 'acknowledged entry')}"
        message = f"The next persist drops {dropped}, and {counted(p.dropped_batch_entries, 'batch state')}."
        yield _told(one, "K01", message, p.dropped_entries + p.dropped_batch_entries)
    if "frame" in p.over_limits:
        message = f"The state takes {p.ranges_bytes:,} bytes as ranges and {p.long_array_bytes:,} as long lists."
        yield _told(one, "K02", message)
    acked = one.found.chosen.acked
    last = acked.last()
    span = span_entries(acked.mark_delete, last, lengths) if last else None
    if span is not None and span >= OLD_HOLE_ENTRIES:
        mark = "{}:{}".format(*acked.mark_delete)
        yield _told(one, "K03", f"Mark-delete {mark} is {span:,} entries behind the highest acknowledgement.")
    redelivered = sum(map(len, p.redelivered.values()))
    if redelivered and p.redelivered_from:
        first = "{}:{}".format(*p.redelivered_from)
        message = f"{counted(redelivered, 'acknowledged entry')} from {first} on would be delivered again."
        yield _told(one, "K08", message, redelivered, (first,))
    stored = one.found.stored
    if stored is not None and stored.downgrade_safe is False:
        form = "as long lists" if stored.state and stored.state.encoding == "long_array" else "in parts or compressed"
        yield _told(one, "K09", f"The state is stored {form}.")


def _told(one: Analysed, code: str, message: str, count: int = 1, evidence: tuple[str, ...] = ()) -> Finding:
    found = one.found
    return Finding(
        code, f"{one.topic} {one.name}", message, topic=one.topic, count=count, evidence=evidence,
        sureness=found.sureness if found else "cannot_tell", reason=found.reason if found else "",
    )  # fmt: skip
