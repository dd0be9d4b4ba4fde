"""`python -m bench simulation`: random settings of several consumers, each play watched by the auditor.

A seed makes a setting: broker, subscription type, clients, queues, what applications do, chunks in any order with
gaps and repeats, and what happens to consumers and topic meanwhile. A broken promise is told with its seed, which
becomes a test.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from typing import get_args

from pulsar_backlog.chunks.dispatch.auditor import BrokenPromiseError
from pulsar_backlog.chunks.dispatch.play import Play
from pulsar_backlog.chunks.dispatch.settings import (
    CLIENTS,
    BrokerLine,
    ConsumerSettings,
    DispatchType,
    Setting,
    Slice,
    Step,
)

_POLICIES = ("ack", "ack", "ack", "none", "nack:2", "reject:1", "forget:1", "ackser")
_QUEUES = (1, 2, 4, 10, 1000)


def random_setting(seed: int) -> Setting:
    """One setting that nobody thought of."""
    chance = random.Random(seed)  # noqa: S311 - a play, not a secret
    dispatch = chance.choice(get_args(DispatchType))
    count = 1 if dispatch == "Exclusive" else chance.randint(1, 4)
    consumers = {f"c{number}": _consumer(chance, dispatch) for number in range(1, count + 1)}
    log, steps, gone = _log(chance), list[Step](), list(consumers)
    while log or gone:
        if gone and (not log or chance.random() < 0.4):
            steps.append(Step("start", (gone.pop(0),)))
        elif log:
            cut = chance.randint(1, 6)
            steps.append(Step("publish", tuple(log[:cut])))
            del log[:cut]
        connected = [name for name in consumers if name not in gone]
        if connected and chance.random() < 0.3:
            step = _event(chance, connected)
            steps.append(step)
            if step.verb in ("close", "kill"):
                gone.append(step.what[0])
                if chance.random() < 0.5:
                    gone.remove(step.what[0])
                    consumers = {name: settings for name, settings in consumers.items() if name != step.what[0]}
        steps.append(Step("wait", (chance.choice((5, 100, 900)),)))
    steps.append(Step("idle", (600, 5)))
    keys = {
        slice_.label: f"k{chance.randint(1, 3)}" for step in steps if step.verb == "publish" for slice_ in step.what
    }
    everybody = {step.what[0]: _consumer(chance, dispatch) for step in steps if step.verb == "start"} | consumers
    return Setting(chance.choice(get_args(BrokerLine)), dispatch, everybody, tuple(steps), keys=keys, topic="t")


def _consumer(chance: random.Random, dispatch: str) -> ConsumerSettings:
    policy = {"default": chance.choice(_POLICIES)}
    if dispatch in ("Exclusive", "Failover") and chance.random() < 0.2:
        policy = {"default": "ackcum"}
    return ConsumerSettings(
        chance.choice(list(CLIENTS.values())),
        queue=chance.choice(_QUEUES),
        policy=policy,
        max_pending=chance.choice((None, 1, 2)),
        auto_ack=chance.random() < 0.3,
        expiry_ms=chance.choice((60_000, 700)),
        nack_delay_ms=200,
        ack_timeout_ms=chance.choice((None, None, 1000)),
        dead_letter_max=chance.choice((None, 2)),
    )


def _log(chance: random.Random) -> list[Slice]:
    """Messages, some of whose chunks are missing, repeated or out of order, interleaved."""
    waiting: list[list[Slice]] = []
    for number in range(chance.randint(1, 8)):
        chunks = chance.randint(1, 4)
        slices = [Slice(f"M{number}", None if chunks == 1 else at, chunks) for at in range(chunks)]
        if chunks > 1 and chance.random() < 0.4:
            slices = chance.choice((slices[1:], slices[:-1], slices + slices[:1], slices[::-1]))
        waiting.append(slices)
    log: list[Slice] = []
    while waiting:
        slices = chance.choice(waiting)
        log.append(slices.pop(0))
        waiting = [left for left in waiting if left]
    return log


def _event(chance: random.Random, connected: list[str]) -> Step:
    verb = chance.choice(("close", "kill", "cut", "unload", "skip", "reset"))
    if verb in ("close", "kill", "cut"):
        return Step(verb, (chance.choice(connected),))
    return Step(verb, (chance.randint(0, 3),)) if verb != "unload" else Step(verb)


def simulate(steps: int, first_seed: int = 0) -> tuple[int, int, dict[int, str]]:
    """Play until so many steps are done: steps, settings, and broken promises by seed."""
    done, seed, broken = 0, first_seed, dict[int, str]()
    while done < steps:
        play = Play(random_setting(seed), seed)
        try:
            play.run()
        except BrokenPromiseError as error:
            broken[seed] = str(error)
        done += play.clock.steps
        seed += 1
    return done, seed - first_seed, broken


def main(argv: list[str]) -> int:
    """Simulate and print what was found."""
    parser = argparse.ArgumentParser(prog="python -m bench simulation", description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--first-seed", type=int, default=0)
    options = parser.parse_args(argv)
    began = time.process_time()
    done, settings, broken = simulate(options.steps, options.first_seed)
    seconds = time.process_time() - began
    for seed, promise in broken.items():
        print(f"seed {seed}: {promise}")
    print(
        f"{done:,} steps of {settings:,} settings, {len(broken)} broken promises, {done * 60 / seconds:,.0f} a minute"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
