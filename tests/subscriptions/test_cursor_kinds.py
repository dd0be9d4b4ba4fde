"""What a cursor is for, by its name: a replicator's is nobody's subscription, so nothing is ever acknowledged on it."""

from __future__ import annotations

import pytest

from pulsar_backlog.cluster.saved_cursors import SavedSubscription
from pulsar_backlog.subscriptions.analysed import Analysed


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("pulsar.repl.west", "replicator"),
        ("pulsar.repl-persistent%3A%2F%2Ft%2Fn%2Fshadow", "replicator"),  # of a shadow topic
        ("__compaction", "compaction"),
        ("pulsar.dedup", "deduplication"),
        ("pulsar.replica", "subscription"),
        ("billing", "subscription"),
    ],
)
def test_by_name(name: str, kind: str) -> None:
    assert Analysed("t", name, None, None, None).kind == kind


@pytest.mark.parametrize(("durable", "kind"), [(False, "reader"), (True, "subscription"), (None, "subscription")])
def test_what_ends_with_its_connection_is_a_readers(durable: bool | None, kind: str) -> None:
    saved = SavedSubscription("s", "Exclusive", 1, durable=durable)
    assert Analysed("t", "s", None, None, saved).kind == kind
