"""Ledgers whose topic nothing names: where they go on, and what dead letters name; see `facts/chains`.

Dead letters: `RetryMessageUtil` and `ConsumerImpl` of
https://github.com/apache/pulsar/tree/492eb456/pulsar-client/src/main/java/org/apache/pulsar/client
"""

from __future__ import annotations

from collections.abc import Iterator

from pulsar_backlog.facts.chains import Chain, Link, chains
from pulsar_backlog.findings import MAX_EVIDENCE, Finding
from pulsar_backlog.foreign_text import visible
from pulsar_backlog.sql.duck_values import portable_literal
from pulsar_backlog.sql.engines import QueryEngine

TABLES_ASKED = ("ledgers", "ledger_facts", "entries")
"""Tables that tell of chains."""
_MESSAGE_ID = "^[(]?([0-9]+)[:,][0-9]+[:,](?:-1|([0-9]+))"
"""Ledger and partition, as clients write them: Java `ledger:entry:partition`, C++ and those built on it
`(ledger,entry,partition,batch)`."""
_REASON = (
    "told by entries alone: nothing names the topic, and numbers may go on, or letters name it, by chance or mistake"
)
_SELECTED = "SELECT ledger_id, topic FROM ledgers WHERE selected"


def findings_of_chains(engine: QueryEngine) -> Iterator[Finding]:
    """A finding for each chain of ledgers whose topic nothing names.

    Args:
        engine: knows `TABLES_ASKED`.
    """
    topics = {row["ledger_id"]: row["topic"] for row in engine.rows({"": _SELECTED})[""]}
    for chain in chains(topics, links_of(engine), topics_in_letters(engine)):
        yield _finding(chain)


def links_of(engine: QueryEngine) -> list[Link]:
    """Two ledgers each, and what goes on from one to the other."""
    return [Link(**row) for row in engine.rows({"": engine.sql("log", "chain_links", {})})[""]]


def topics_in_letters(engine: QueryEngine) -> dict[int, str]:
    """Ledgers of which dead letters name one topic, and that topic."""
    values: dict[str, int | str] = {"message_id": portable_literal(_MESSAGE_ID)}
    rows = engine.rows({"": engine.sql("log", "dead_letter_topics", values)})[""]
    return {row["ledger_id"]: row["topic"] for row in rows}


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
