"""Places of findings of an export: what was left out, what could not be opened, what is not vouched for."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.findings import count_sentences
from pulsar_backlog.frames.codes import code_of
from pulsar_backlog.frames.export.filters import is_exportable
from pulsar_backlog.messages.kinds import ABORTED, CANNOT_TELL, OPEN, TRANSACTIONS
from pulsar_backlog.messages.masking import MASKED
from pulsar_backlog.messages.outcomes import Outcome

OUTCOME_CODES: dict[Outcome, str] = {
    "no_key": "X02",
    "undecryptable": "X03",
    "undecodable": "X04",
    "wrong_size": "X05",
    "corrupt": "X06",
    "too_large": "X10",
    "no_room": "X11",
    "unreadable": "X07",
    "exported": "X09",
}
"""Finding of an outcome that is not verified."""

INCOMPLETE = ("X07", "X11")
"""Codes of what was not read or not written, so that the export is not complete."""

COUNTED = count_sentences("X01", "X02", "X03", "X04", "X05", "X06", "X07", "X08", "X09", "X10", "X11", "X12")


def as_it_was_read(messages: DataFrame) -> DataFrame:
    """Rows that were masked, verified where their bytes were."""
    return messages.withColumn("verified", f.col("verified") | (f.col("reason") == MASKED))


def places_of_export(messages: DataFrame, publications: DataFrame, hidden: DataFrame | None) -> DataFrame:
    """Rows as `frames.codes.CODED`.

    Args:
        messages: what was written.
        publications: wanted chunked messages, exported or not.
        hidden: entries with `txn_state` that were left out for their transaction, or None where none were.
    """
    coded = messages.filter(~f.col("verified")).select(
        "topic", code_of(f.col("outcome"), dict(OUTCOME_CODES)).alias("code"), "ledger_id", "entry_id",
        f.lit("certain").alias("sureness"), f.lit("read from the stored bytes").alias("reason"),
    )  # fmt: skip
    rest = publications.filter(~is_exportable()).select(
        "topic", f.lit("X01").alias("code"), f.col("first_ledger_id").alias("ledger_id"),
        f.col("first_entry_id").alias("entry_id"), "sureness", "reason",
    )  # fmt: skip
    undecided = messages.filter(f.col("transaction") == f.lit(TRANSACTIONS[CANNOT_TELL])).select(
        "topic", f.lit("X12").alias("code"), "ledger_id", "entry_id", f.lit("cannot_tell").alias("sureness"),
        f.lit("segments hold no markers, and what was saved of the metadata store does not say").alias("reason"),
    )  # fmt: skip
    coded = coded.unionByName(rest).unionByName(undecided)
    if hidden is not None:
        is_open = f.col("txn_state") == OPEN
        aborted = f.lit("markers in the log, or the metadata store, abort their transactions")
        reason = f.when(is_open, "neither the log that was scanned nor the metadata store ends them").otherwise(aborted)
        coded = coded.unionByName(
            hidden.filter(f.col("txn_state").isin(ABORTED, OPEN)).select(
                "topic", f.lit("X08").alias("code"), "ledger_id", "entry_id",
                f.when(is_open, "likely").otherwise("certain").alias("sureness"), reason.alias("reason"),
            )
        )  # fmt: skip
    return coded
