"""Who has acknowledged a position, in words."""

from __future__ import annotations

from pulsar_backlog.subscriptions.position_acks import acknowledged_by
from tests.auditing import ADMIN, DATA

UNBATCHED = "persistent://lab/sub/subs-unbatched"
BATCHED = "persistent://lab/sub/subs-batched"


def said(broker: str, topic: str, position: tuple[int, int]) -> dict[str, str]:
    return dict(acknowledged_by(DATA / "cursors" / broker, topic, position))


def test_each_subscription_of_the_topic_is_named() -> None:
    found = said("broker-4.0.8", UNBATCHED, (213, 12))
    assert found == {
        "excl": "acknowledged, at or before its mark-delete 219:0",
        "keyshared/ü": "acknowledged individually, after its mark-delete 213:2",
        "shared-holes": "acknowledged individually, after its mark-delete 213:9",
    }
    assert said("broker-4.0.8", UNBATCHED, (213, 13))["shared-holes"].startswith("not acknowledged; its mark-delete")


def test_a_batch_names_what_is_left_of_it() -> None:
    words = said("broker-4.2.4", BATCHED, (15, 2))["bidx"]
    assert words == "in part: batch indexes 1, 3, 5, 7, 9 are not acknowledged"


def test_other_topics_are_not_named() -> None:
    assert dict(acknowledged_by(ADMIN, "persistent://lab/s3/none", (5, 1))) == {}
