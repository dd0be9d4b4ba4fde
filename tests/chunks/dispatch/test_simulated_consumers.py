"""Random settings, watched by the auditor."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bench import simulation
from pulsar_backlog.chunks.dispatch.broker_consumer import BrokerConsumer
from pulsar_backlog.chunks.dispatch.dispatcher import MultipleConsumers
from pulsar_backlog.chunks.dispatch.play import Play

SEEDS = {
    1370: "an entry that a waiting read took when nobody was connected any more is read again by whoever comes",
    1672: "the same on a subscription of two",
    1932: "the same after a reset",
}


def test_no_random_setting_breaks_a_promise() -> None:
    steps, settings, broken = simulation.simulate(60_000)
    assert (steps > 60_000, settings > 100, broken) == (True, True, {})


@pytest.mark.parametrize("seed", SEEDS, ids=list(SEEDS.values()))
def test_seeds_that_once_alarmed_the_auditor(seed: int) -> None:
    Play(simulation.random_setting(seed), seed).run()


def test_a_dispatcher_that_loses_what_it_cannot_send_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = MultipleConsumers.give

    def forgetful(self: MultipleConsumers, consumer: BrokerConsumer, batch: Sequence[int]) -> int:
        return real(self, consumer, batch[: max(consumer.permits, 0)])

    monkeypatch.setattr(MultipleConsumers, "give", forgetful)
    assert simulation.simulate(60_000)[2]


def test_a_dispatcher_that_loses_what_a_dead_consumer_had_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = MultipleConsumers.remove

    def careless(self: MultipleConsumers, consumer: BrokerConsumer) -> None:
        for at in list(consumer.pending)[:1]:
            del consumer.pending[at]
        real(self, consumer)

    monkeypatch.setattr(MultipleConsumers, "remove", careless)
    assert simulation.simulate(60_000)[2]


def test_the_command_prints_what_it_did(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulation.main(["--steps", "2000"]) == 0
    assert "0 broken promises" in capsys.readouterr().out
