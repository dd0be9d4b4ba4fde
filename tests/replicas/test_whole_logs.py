"""Whole logs of two clusters with planted differences, through digests, buckets and verdicts: see `bench.families`.

`python -m bench differences` does the same with 100,000 families.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import duckdb
import pytest

from bench.families import main, mistakes, planted
from pulsar_backlog.replicas.judging import Difference, judge
from pulsar_backlog.steps import cluster_comparison

TOPICS = 10
SEEDS = (1, 20_261_126)


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        yield opened


@pytest.mark.parametrize("seed", SEEDS)
def test_all_are_found_and_none_is_invented(seed: int, connection: duckdb.DuckDBPyConnection) -> None:
    assert [line for number in range(TOPICS) for line in mistakes(connection, seed, number)] == []


def test_every_deed_is_planted() -> None:
    topics = [planted(SEEDS[0], number) for number in range(TOPICS)]
    kinds = Counter((kind, side) for topic in topics for kind, side, _, _ in topic.expected.elements())
    assert kinds.keys() >= {
        ("missing", "a"), ("missing", "b"), ("duplicate", "a"), ("duplicate", "b"), ("content", "both"),
        ("broken", "a"), ("broken", "b"), ("policy", "a"), ("policy", "b"), ("in_flight", "b"),
    }  # fmt: skip
    assert sum(len(topic.orders) for topic in topics) > 20
    assert any(one.is_repair for topic in topics for one in topic.logs["b"])


def test_what_is_overlooked_or_invented_is_told(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def without_content(*halves: object) -> list[Difference]:
        return [one for one in judge(*halves) if one.kind != "content"]  # type: ignore[arg-type]

    monkeypatch.setattr(cluster_comparison, "judge", without_content)
    told = mistakes(connection, SEEDS[0], 0)
    assert told
    assert all("not found: ('content', 'both'" in line for line in told)
    assert main(["--families", "200"]) == 1
    assert capsys.readouterr().out.endswith(f": {len(told)} mistakes\n")
