"""Of which topic a document is that does not say so: by the ledgers that it lists, or by the name of its file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

from pulsar_backlog.cluster.documents import Document, is_topic

_KIND = re.compile(r"(\.(internal-?stats|stats-internal|internal-info|info-internal|stats))?\.json\Z", re.IGNORECASE)


def topic_by_ledgers(document: Document, topics_of_ledgers: Mapping[int, str]) -> str | None:
    """The topic of the ledgers that a document lists; None where they are of several, or of none that is known."""
    ids = {ledger.ledger_id for ledger in document.ledgers}
    if document.offloaded_ledger_id is not None:
        ids.add(document.offloaded_ledger_id)
    topics = {topics_of_ledgers[id_] for id_ in ids if id_ in topics_of_ledgers}
    return topics.pop() if len(topics) == 1 else None


def topic_by_file_name(path: str) -> str | None:
    """The topic in the name of a file; None where it has another form."""
    name = path.rsplit("/", 1)[-1]
    kind = _KIND.search(name)
    parts = name[: kind.start()].split("__", 2) if kind else []
    topic = "persistent://" + "/".join(unquote(part) for part in parts)
    return topic if is_topic(topic) else None
