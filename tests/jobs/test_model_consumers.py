"""`consumer_outcomes` and `client_forecasts` of the bundled backlog, against what the recorded clients delivered."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pulsar_backlog.errors import UsageError
from tests.auditing import ADMIN, OBJECTS, Audited, run_one
from tests.chunks.clients.runs import DATA, Run, load_runs

NEEDS_SPARK = True

NOT_PREDICTED = json.loads((DATA / "not_predicted.json").read_text())
SUBSCRIPTIONS = {
    # what each model's defaults come nearest to: all is old, and nothing is set but how soon chunks expire
    "java": ("j-excl-e5-old", "j-excl-b3", "j-excl-queue1000-live"),
    "python": ("py-excl-default-live", "py-excl-b3", "py-excl-queue1000-live"),
    "go": ("go-excl-e5-old", "go-excl-b3", "go-excl-queue1000-live"),
}
DEATHS = {"python": "process_death", "go": "panic"}


def recorded() -> list[tuple[str, Run]]:
    """The run of each topic that a default model is to be compared with."""
    return [
        (model, run)
        for model, names in SUBSCRIPTIONS.items()
        for run in load_runs()
        if run.facts["subscription"] in names and run.facts["pass"] == 1
    ]


@pytest.fixture(scope="module")
def outcomes(bundled: Audited) -> dict[tuple[str, int, str], dict[str, Any]]:
    return {(row["chunk_uuid"], row["publish_time_ms"], row["model"]): row for row in bundled.rows("consumer_outcomes")}


@pytest.mark.parametrize(("model", "run"), recorded(), ids=lambda value: getattr(value, "name", value))
def test_as_often_as_the_real_client(
    model: str, run: Run, outcomes: dict[tuple[str, int, str], dict[str, Any]]
) -> None:
    by_id = {entry.position[1]: entry.publication for entry in run.entries if entry.num_chunks}
    real: Counter[tuple[str, int]] = Counter()
    for delivery in run.facts["delivered"]:
        real.update({by_id[entry_id] for entry_id in delivery if entry_id in by_id})
    if "delivered" in NOT_PREDICTED.get(run.name, {}).get("aspects", ()):
        pytest.skip(NOT_PREDICTED[run.name]["reason"])
    for key in set(by_id.values()):
        row = outcomes[*key, model]
        assert row["deliveries"] + row["mixed_deliveries"] + row["wrong_deliveries"] == real[key], (key, row)


def test_every_publication_has_an_outcome_of_every_model(
    bundled: Audited, outcomes: dict[tuple[str, int, str], dict[str, Any]]
) -> None:
    publications = bundled.rows("chunked_messages", "topic", "chunk_uuid", "publish_time_ms", "copies")
    assert len(outcomes) == len(publications) * len(SUBSCRIPTIONS)
    for publication in publications:
        for model in SUBSCRIPTIONS:
            row = outcomes[publication["chunk_uuid"], publication["publish_time_ms"], model]
            assert row["topic"] == publication["topic"]
            assert row["acked_unread"] + row["holes"] + row["blocked_entries"] <= publication["copies"]


def test_forecasts_add_up_and_name_who_dies(
    bundled: Audited, outcomes: dict[tuple[str, int, str], dict[str, Any]]
) -> None:
    forecasts = {(row["topic"], row["model"]): row for row in bundled.rows("client_forecasts")}
    words = Counter((row["topic"], row["model"], row["outcome"]) for row in outcomes.values())
    for (topic, model), row in forecasts.items():
        mine = {word: count for (t, m, word), count in words.items() if (t, m) == (topic, model)}
        assert {word: row[word] for word in mine} == mine
        assert row["publications"] == sum(mine.values())
    for model, run in recorded():
        topic = f"persistent://lab/s3/{run.name.partition('/')[0]}"
        if (topic, model) not in forecasts:
            assert not any(entry.num_chunks for entry in run.entries)  # nothing but markers and plain messages
            continue
        died = run.facts["exit"] not in (0, None)
        assert (forecasts[topic, model]["damage"] == DEATHS.get(model, "")) == died, run.name


def test_dangerous_cases_are_findings(bundled: Audited) -> None:
    codes = bundled.codes()
    names = {
        code: {subject.rpartition("/")[2] for subject in codes.get(code, ())} for code in ("C19", "C40", "C41", "C42")
    }
    assert names["C19"] == {"brk-many-pending"}
    assert names["C40"] == {"brk-franken"}
    assert {"brk2-bad-zstd", "brk3-garbage-lz4", "brk2-lie-n-smaller", "brk2-batchcount"} <= names["C41"]
    assert names["C42"] == {"brk-meta-lies", "brk2-lie-total-small", "brk2-lie-n-smaller", "brk3-usize-small-snappy"}


def test_healthy_topics_are_delivered_once_by_everyone(
    bundled: Audited, outcomes: dict[tuple[str, int, str], dict[str, Any]]
) -> None:
    healthy = {
        row["chunk_uuid"] for row in bundled.rows("chunked_messages") if row["state"] == "whole" and not row["flags"]
    }
    odd = {
        (row["topic"].rpartition("/")[2], row["outcome"])
        for row in outcomes.values()
        if row["chunk_uuid"] in healthy and row["outcome"] != "delivered" and "/brk" not in row["topic"]
    }
    assert odd == set()


def test_again_and_with_other_models(bundled: Audited, tmp_path: Path) -> None:
    """An unchanged audit is seen; other models replace the rows of the ones before."""
    given = {"admin": ADMIN, "cluster": "demo"}
    out = tmp_path / "copy"
    shutil.copytree(bundled.out, out)
    assert run_one("model_consumers", OBJECTS, out, **given).exit_code == 99
    changed = run_one("model_consumers", OBJECTS, out, **given, model=("J-OLD", "sql", "java:shared,live"))
    assert changed.exit_code == 1
    again = Audited(0, "", "", out, str(OBJECTS))
    forecasts = again.rows("client_forecasts")
    assert {row["model"] for row in forecasts} == {"J-OLD", "sql", "java:shared,live"}
    stalled = {row["topic"].rpartition("/")[2] for row in forecasts if row["damage"] == "dispatch_stall"}
    assert {"brk-missing", "brk-out-of-order", "brk2-tail-residue"} <= stalled


def test_a_model_that_is_none_is_a_usage_error(bundled: Audited) -> None:
    with pytest.raises(UsageError, match=r"--model: java:fast: 'fast' is not a setting"):
        run_one("model_consumers", OBJECTS, bundled.out, cluster="demo", model=("java:fast",))
