"""Every recorded run of a real client is predicted: the deliveries in order, and what is acknowledged in the end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.chunks.clients.runs import DATA, Played, Run, load_runs, play

RUNS = load_runs()
NOT_PREDICTED: dict[str, Any] = json.loads((DATA / "not_predicted.json").read_text())
DEATHS = {"process_death", "panic"}


def wrong_aspects(run: Run, played: Played) -> set[str]:
    """What the model gets wrong about the run."""
    aspects = {
        "delivered": played.delivered == run.facts["delivered"],
        "acknowledged": played.acknowledged == sorted(run.facts["final"]),
    }
    return {name for name, right in aspects.items() if not right}


def test_all_runs_are_here() -> None:
    assert len(RUNS) == 441
    assert len({run.name for run in RUNS}) == 441


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_deliveries_and_acknowledgements(run: Run) -> None:
    wrong = wrong_aspects(run, play(run, run.facts["closing_ms"]))
    assert wrong == set(NOT_PREDICTED.get(run.name, {}).get("aspects", ()))


@pytest.mark.parametrize("run", [run for run in RUNS if run.facts["idle"] is not None], ids=lambda run: run.name)
def test_acknowledgements_when_nothing_comes_any_more(run: Run) -> None:
    assert play(run, run.facts["idle_ms"]).acknowledged == sorted(run.facts["idle"])


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_who_dies_is_known(run: Run) -> None:
    damage = play(run, run.facts["closing_ms"]).session.damage
    assert (run.facts["exit"] not in (0, None)) == (damage is not None and damage.kind in DEATHS)


@pytest.mark.parametrize("name", NOT_PREDICTED)
def test_a_race_changes_only_repeats_and_what_was_ready(name: str) -> None:
    """Even where a race decides, nothing is delivered in another order, or acknowledged that the model leaves."""
    run = next(run for run in RUNS if run.name == name)
    played = play(run, run.facts["closing_ms"])
    once = [entries for i, entries in enumerate(run.facts["delivered"]) if entries not in run.facts["delivered"][:i]]
    shorter, longer = sorted((once, played.delivered), key=len)
    assert longer[: len(shorter)] == shorter
    assert set(run.facts["final"]) <= set(played.acknowledged)
