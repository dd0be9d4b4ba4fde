"""Ledgers whose topic nothing names: where they go on, and what dead letters name; see `facts/chains`.

Dead letters: `RetryMessageUtil` and `ConsumerImpl` of
https://github.com/apache/pulsar/tree/492eb456/pulsar-client/src/main/java/org/apache/pulsar/client
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from pulsar_backlog.facts.chains import Chain, Link, chains
from pulsar_backlog.findings import MAX_EVIDENCE, Finding
from pulsar_backlog.foreign_text import visible

_MESSAGE_ID = r"^\(?(\d+)[:,]\d+[:,](?:-1|(\d+))"
"""As clients write it: Java `ledger:entry:partition`, C++ and those built on it `(ledger,entry,partition,batch)`."""
_REASON = (
    "told by entries alone: nothing names the topic, and numbers may go on, or letters name it, by chance or mistake"
)


def findings_of_chains(ledgers: DataFrame, facts: DataFrame, entries: DataFrame) -> Iterator[Finding]:
    """A finding for each chain of ledgers whose topic nothing names.

    Args:
        ledgers: rows of the table `ledgers`.
        facts: of `ledger_facts`.
        entries: of `entries`.
    """
    selected = ledgers.filter("selected").select("ledger_id", "topic")
    topics = {row["ledger_id"]: row["topic"] for row in selected.toLocalIterator()}
    links = [Link(**row.asDict()) for row in links_of(facts, entries).toLocalIterator()]
    letters = {row["ledger_id"]: row["topic"] for row in letters_of(entries).toLocalIterator()}
    for chain in chains(topics, links, letters):
        yield _finding(chain)


def links_of(facts: DataFrame, entries: DataFrame) -> DataFrame:
    """A row for each two ledgers and kind, with the columns of `facts.chains.Link`."""
    both = _by_index(facts).unionByName(_by_producer(entries))
    first = f.min(f.struct("example", "number"))
    together = both.groupBy("before", "after", "kind").agg(f.count("*").alias("count"), first.alias("first"))
    return together.select("before", "after", "kind", "count", "first.example", "first.number")


def letters_of(entries: DataFrame) -> DataFrame:
    """A row with `topic` for each `ledger_id` of which dead letters name one topic; of a partition with its number."""
    properties = f.col("properties")
    lettered = entries.filter(
        f.map_contains_key(properties, "REAL_TOPIC") & f.map_contains_key(properties, "ORIGIN_MESSAGE_ID")
    )
    origin, real = properties["ORIGIN_MESSAGE_ID"], properties["REAL_TOPIC"]
    partition = f.regexp_extract(origin, _MESSAGE_ID, 2)
    is_whole = (partition == "") | real.rlike("-partition-[0-9]+$")
    named = lettered.select(
        f.regexp_extract(origin, _MESSAGE_ID, 1).try_cast("bigint").alias("ledger_id"),
        f.when(is_whole, real).otherwise(f.concat(real, f.lit("-partition-"), partition)).alias("topic"),
    ).filter(f.col("ledger_id").isNotNull() & f.col("topic").startswith("persistent://"))
    alone = f.min("topic") == f.max("topic")
    return (
        named.groupBy("ledger_id")
        .agg(alone.alias("alone"), f.min("topic").alias("topic"))
        .filter("alone")
        .drop("alone")
    )


def _by_index(facts: DataFrame) -> DataFrame:
    ends = facts.select("ledger_id", f.struct(f.try_add("last_entry_index", f.lit(1)).alias("number")).alias("at"))
    begins = facts.select("ledger_id", f.struct(f.col("first_message_index").alias("number")).alias("at"))
    return _linked(ends, begins, f.lit("index"), f.lit(""))


def _by_producer(entries: DataFrame) -> DataFrame:
    """Of the first and last undamaged message of each producer in each ledger."""
    sound = entries.filter((f.col("checksum_state") != "mismatch") & f.col("marker_type").isNull())
    named = sound.filter(f.length("producer_name") > 0)
    in_batch = f.try_add("sequence_id", f.coalesce("num_messages_in_batch", f.lit(1)).cast("bigint") - 1)
    last = f.greatest(in_batch, "sequence_id", "highest_sequence_id")
    none, chunk_id = f.lit(0).cast("bigint"), f.col("chunk_id").cast("bigint")
    begins = _at(f.col("sequence_id"), f.coalesce(chunk_id, none))
    is_cut = f.coalesce(chunk_id + 1 < f.col("num_chunks_from_msg"), f.lit(False))
    goes_on, done = _at(f.col("sequence_id"), chunk_id + 1), _at(f.try_add(last, f.lit(1)), none)
    ends = f.when(is_cut, goes_on).otherwise(done)
    of_each = named.groupBy("ledger_id", "producer_name").agg(
        f.min_by(begins, "entry_id").alias("begins"), f.max_by(ends, "entry_id").alias("ends")
    )
    after, before = (of_each.select("ledger_id", f.col(name).alias("at")) for name in ("begins", "ends"))
    return _linked(before, after, f.lit("producer"), f.col("at.producer_name"))


def _at(number: Column, chunk_id: Column) -> Column:
    return f.struct("producer_name", number.alias("number"), chunk_id.alias("chunk_id"))


def _linked(ends: DataFrame, begins: DataFrame, kind: Column, example: Column) -> DataFrame:
    """Ledgers of which one alone ends where another one alone begins."""
    both = _alone(ends, "before").join(_alone(begins, "after"), on="at", how="inner").filter("before < after")
    return both.select(
        "before", "after", kind.alias("kind"), example.alias("example"), f.col("at.number").alias("number")
    )


def _alone(places: DataFrame, name: str) -> DataFrame:
    """Places that one ledger has."""
    counted = places.filter(f.col("at.number").isNotNull()).groupBy("at")
    return (
        counted.agg(f.count("*").alias("ledgers"), f.first("ledger_id").alias(name))
        .filter("ledgers = 1")
        .drop("ledgers")
    )


def _finding(chain: Chain) -> Finding:
    named = ", ".join(map(str, chain.ledgers[:MAX_EVIDENCE]))
    more = f" and {len(chain.ledgers) - MAX_EVIDENCE} more" if len(chain.ledgers) > MAX_EVIDENCE else ""
    topic = f" {visible(chain.topic)}" if chain.topic else " one topic"
    who = f"Ledgers {named}{more} are" if len(chain.ledgers) > 1 else f"Ledger {named} is"
    return Finding(
        "S35", f"ledger {chain.ledgers[0]}", f"{who} likely of{topic}.",
        ledger_id=chain.ledgers[0], count=len(chain.ledgers), sureness="likely", reason=_REASON,
        evidence=tuple(visible(words) for words in chain.evidence()),
    )  # fmt: skip
