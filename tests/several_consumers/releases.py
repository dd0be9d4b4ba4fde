"""The brokers on which several consumers are played, and the Java client that plays with them.

Of 4.0.8 the distribution of tests/broker serves. No distribution of 4.2.4 is published: `jars.lock` names each jar of
what Maven resolved for `pulsar-broker` once (with `opentelemetry-bom` 1.62.0 before `pulsar-bom`). For 5.0.0-M1 there
are the jars of tests/broker5. `python -m tests.several_consumers.releases` fetches all of them ahead of the tests
(`make test-consumers`).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from pulsar_backlog.chunks.dispatch.settings import BrokerLine
from tests.broker import distribution
from tests.broker5.distribution import jars as jars_5
from tests.locked_jars import locked_jars

_LOGGING = Path(__file__).with_name("log4j2.xml")
CACHE = Path(__file__).parents[2] / ".cache" / "broker42"
JAVA_CLIENT = "java 4.2"
"""The client of `jars_42`, in the words of a forecast."""


def jars_42() -> Path:
    """The folder of the jars of 4.2.4, fetched if need be.

    Raises:
        RuntimeError: they cannot be had, or are not the files they should be.
    """
    return locked_jars(Path(__file__).with_name("jars.lock"), CACHE)


@dataclass(frozen=True)
class Release:
    """A broker's release.

    Attributes:
        version: its number.
        line: whose model says what it does.
    """

    version: str
    line: BrokerLine

    @property
    def server(self) -> distribution.Server:
        """Its broker, fetched if need be."""
        if self.line == "4.0":
            return distribution.distributed()
        jars = jars_42() if self.line == "4.2" else jars_5()
        return distribution.Server(f"{jars}/*", _LOGGING, takes_bookie_port=self.line == "4.2")


RELEASES = (Release(distribution.VERSION, "4.0"), Release("4.2.4", "4.2"), Release("5.0.0-M1", "5.0"))


if __name__ == "__main__":
    sys.stdout.write(f"{distribution.broker_home()}\n{jars_42()}\n{jars_5()}\n")
