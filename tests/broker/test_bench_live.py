"""The bench of live reading, on a small topic: its readers read the same; how fast is never a test."""

from __future__ import annotations

from pathlib import Path

from bench.live import measure_live, served
from bench.scorecard import Scorecard

READERS = ("Java reader", "Python client", "live read", "live scan")


def test_every_reader_reads_all(tmp_path: Path) -> None:
    card = Scorecard()
    with served(tmp_path, 500) as topic:
        measure_live(topic, 1, card)
    (missing,) = (goal for goal in card.goals if goal.name == "entries not read")
    assert missing.value == 0
    assert all(card.details[name].keys() == {"seconds", "cpu_seconds"} for name in READERS)
