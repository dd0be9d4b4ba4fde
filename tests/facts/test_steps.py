"""Steps of a stretch where the count of messages decides, and is not to be believed."""

from __future__ import annotations

import pytest

from pulsar_backlog.facts.ledger import facts_of
from pulsar_backlog.facts.steps import Step
from pulsar_backlog.facts.stretch import Stretch
from tests.facts.build import batch_of


@pytest.mark.parametrize(
    ("fields", "step"),
    [
        ({}, Step(1, 4, (8,))),  # its first message has the index 7, and 10 was there
        ({"checksum_state": "mismatch"}, None),
        ({"txnid_most_bits": 1}, None),
        ({"num_messages_in_batch": -5}, None),
    ],
)
def test_only_a_batch_that_can_be_believed_takes_indexes_before_its_own(
    fields: dict[str, object], step: Step | None
) -> None:
    entry = {
        "cluster": "c", "topic": "t", "ledger_id": 5, "checksum_state": "valid", "has_broker_metadata": True,
        "num_messages_in_batch": 5,
    }  # fmt: skip
    rows = [entry | {"entry_id": 7, "index": 10}, entry | {"entry_id": 8, "index": 11} | fields]
    assert facts_of(Stretch(batch_of(rows))).order.steps.get("B02") == step
