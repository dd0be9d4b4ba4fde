"""Predictions for several consumers against what real ones did."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import consumers
from bench.consumer_cells import Cell, outcome_of, read_cells
from pulsar_backlog.chunks.dispatch.outcomes import Outcome, predict
from pulsar_backlog.chunks.dispatch.play import play

RECORDED = Path(__file__).resolve().parents[2] / "data" / "consumers"
CELLS = list(read_cells(RECORDED))


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_every_recorded_run_is_predicted_and_nothing_certain_is_wrong(cell: Cell) -> None:
    prediction = predict(cell.setting, play)
    assert set(cell.outcomes) <= prediction.outcomes.keys()
    assert all(prediction.certain.holds_in(outcome) for outcome in cell.outcomes)


@pytest.mark.parametrize("cell", [cell for cell in CELLS if len(set(cell.outcomes)) == 1], ids=lambda cell: cell.name)
def test_where_all_repeats_agree_one_outcome_is_predicted(cell: Cell) -> None:
    assert list(predict(cell.setting, play).outcomes) == [cell.outcomes[0]]


def test_the_same_seed_gives_the_same_outcome() -> None:
    setting = CELLS[0].setting
    assert [play(setting, seed) for seed in range(20)] == [play(setting, seed) for seed in range(20)]


def test_an_outcome_is_read_with_its_ranges_and_other_topics() -> None:
    raw = {
        "final": {"mark_delete": -1, "deleted": "[(0..1],(2..4]]", "backlog": 3},
        "delivered_anyone": {"B": 1, "A": 2},
        "other_topics": {"s-DLQ": [["A", None, None]]},
    }
    others = (("s-DLQ", (("A", None, None),)),)
    assert outcome_of(raw) == Outcome((("A", 2), ("B", 1)), -1, ((0, 1), (2, 4)), 3, others)


def test_the_score_counts_runs_and_exceptions(capsys: pytest.CaptureFixture[str]) -> None:
    assert consumers.main([str(RECORDED), "--only", "B-kill-mid"]) == 0
    table = capsys.readouterr().out
    assert table.splitlines()[1].split() == ["B", "1", "3", "3", "0", "1", "1", "1"]


def test_a_cell_that_nobody_can_play_counts_as_not_predicted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import gzip
    import json

    cell = json.loads(gzip.decompress((RECORDED / "runs" / "B-kill-mid-live-j408.4.0.8.json.gz").read_bytes()))
    cell["steps"].append(["juggle"])
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "B-odd.json.gz").write_bytes(gzip.compress(json.dumps(cell).encode()))
    assert consumers.main([str(tmp_path)]) == 0
    out = capsys.readouterr()
    assert out.out.splitlines()[1].split() == ["B", "1", "3", "0", "0", "0", "1", "0"]
    assert "B-odd: not played: no step 'juggle'" in out.err
