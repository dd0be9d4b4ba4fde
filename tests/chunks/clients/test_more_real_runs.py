"""As test_real_runs.py, for the systematic logs of tests/data/client_runs: more settings, and older releases."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from tests.chunks.clients.runs import MORE_DATA, Run, load_runs, play

RUNS = load_runs(MORE_DATA)
NOT_PREDICTED: dict[str, Any] = json.loads((MORE_DATA / "not_predicted.json").read_text())
DEATHS = {"process_death", "panic"}


def wrong_aspects(run: Run) -> set[str]:
    """What the model gets wrong about the run."""
    facts = run.facts
    played = play(run, facts["closing_ms"])
    damage = played.session.damage
    aspects = {
        "delivered": played.delivered == facts["delivered"],
        "acknowledged": played.acknowledged == sorted(facts["final"]),
        "idle": facts["idle"] is None or play(run, facts["idle_ms"]).acknowledged == sorted(facts["idle"]),
        "exit": (facts["exit"] not in (0, None)) == (damage is not None and damage.kind in DEATHS),
    }
    return {name for name, right in aspects.items() if not right}


def test_all_runs_are_here() -> None:
    assert len({run.name for run in RUNS}) == len(RUNS) == 1015
    assert Counter(run.facts["client"] for run in RUNS) == {
        "java pulsar-client 4.0.8": 322,
        "java pulsar-client 2.10.5": 101,
        "python pulsar-client 3.13.0 (C++)": 225,
        "python pulsar-client 3.4.0 (C++)": 4,
        "python pulsar-client 3.3.0 (C++)": 4,
        "python pulsar-client 3.1.0 (C++)": 30,
        "go pulsar-client-go v0.19.0": 259,
        "go pulsar-client-go v0.14.0": 70,
    }


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_run_is_predicted(run: Run) -> None:
    assert wrong_aspects(run) == set(NOT_PREDICTED.get(run.name, {}).get("aspects", ()))
