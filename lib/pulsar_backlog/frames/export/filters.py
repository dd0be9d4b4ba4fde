"""Which messages an export wants, by what `entries` and `chunked_messages` say of them.

| filter | of an entry | of a chunked message |
|---|---|---|
| times | its publish time | its publish time |
| producers | its producer | the producer of any copy of a chunk |
| keys | its key; a batch is opened first, and asked message by message | the key of any copy of a chunk |
| states | `single` or `batch` | its state |
| transactions | its transaction is committed, or nobody can tell | so is that of every copy of a chunk |

Nothing that might be wanted is left out without a word. An entry whose checksum does not agree is wanted whatever it
says of itself, and whoever asks for keys also gets the batches that could not be opened.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.messages.kinds import CANNOT_TELL, COMMITTED, NO_TRANSACTION, SINGLE_STATES
from pulsar_backlog.messages.outcomes import OPENED
from pulsar_backlog.terms import COMPLETE


@dataclass(frozen=True)
class Filters:
    """Which messages are wanted; None and empty want all.

    Attributes:
        since: first publish time, inclusive.
        until: first publish time not wanted any more.
        producers: producer names; any may match.
        keys: message keys as text; any may match.
        states: `single`, `batch`, or states of chunked messages; any may match.
        all_transactions: also messages of aborted and open transactions.
    """

    since: datetime | None = None
    until: datetime | None = None
    producers: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    all_transactions: bool = False

    def wants_entries(self) -> bool:
        """Whether messages that are not chunked are wanted at all."""
        return not self.states or any(state in self.states for state in SINGLE_STATES)


def wanted_entries(entries: DataFrame, filters: Filters) -> DataFrame:
    """Entries, or chunked messages, of wanted times and producers."""
    return entries.filter(of_times(filters) & of_producers(filters))


def visible_messages(messages: DataFrame, filters: Filters) -> DataFrame:
    """Rows with `txn_state`, without aborted and open transactions unless all transactions are wanted.

    Messages of which nobody can tell stay: most are committed, and a message that is left out is lost to its reader.
    """
    if filters.all_transactions:
        return messages
    return messages.filter(f.col("txn_state").isin(NO_TRANSACTION, COMMITTED, CANNOT_TELL))


def of_keys(rows: DataFrame, filters: Filters) -> DataFrame:
    """Rows of `messages` without batch members of other keys. What was not opened stays: nobody knows its keys."""
    if not filters.keys:
        return rows
    is_member = (f.col("batch_index") >= 0) & f.col("outcome").isin(*OPENED)
    return rows.filter(~is_member | has_key(filters.keys))


def of_times(filters: Filters) -> Column:
    """Whether the publish time is wanted."""
    wanted = f.lit(True)
    if filters.since is not None:
        wanted &= f.col("publish_time") >= f.lit(filters.since)
    if filters.until is not None:
        wanted &= f.col("publish_time") < f.lit(filters.until)
    return wanted


def of_producers(filters: Filters) -> Column:
    """Whether the producer is wanted."""
    return f.col("producer_name").isin(*filters.producers) if filters.producers else f.lit(True)


def has_key(keys: tuple[str, ...]) -> Column:
    """Whether the message key is one of these, as text or as the bytes of the text."""
    is_coded = f.coalesce("partition_key_b64_encoded", f.lit(False))
    decoded = f.try_to_binary("partition_key", f.lit("base64")).cast("string")
    key = f.when(is_coded, decoded).otherwise(f.col("partition_key"))
    return f.coalesce(key.isin(*keys), f.lit(False))


def is_exportable() -> Column:
    """Whether a chunked message can be tried: it can be rebuilt, or all is there but its payload did not decode."""
    is_undecoded = f.col("state").isin(*COMPLETE) & f.col("decode_state").isin("fault", "wrong_size")
    return f.col("rebuildable") | (is_undecoded & (f.col("present_chunks") == f.col("num_chunks")))
