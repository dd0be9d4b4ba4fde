"""The runtime jars of a Pulsar 5.0.0-M1 broker and its clients: fetched once from Maven Central, checked, in `.cache/`.

No server distribution of it is published. `jars.lock` names each jar by its coordinates and SHA-256: what Ivy resolved
for `pulsar-broker` and `pulsar-client-v5` once. `python -m tests.broker5.distribution` fetches them ahead of the tests
(`make test-broker5`). All of them run on the Java of the other tests.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.locked_jars import locked_jars

VERSION = "5.0.0-M1"
CACHE = Path(__file__).parents[2] / ".cache" / "broker5"


def jars() -> Path:
    """The folder of the jars, fetched if need be.

    Raises:
        RuntimeError: they cannot be had, or are not the files they should be.
    """
    return locked_jars(Path(__file__).with_name("jars.lock"), CACHE)


if __name__ == "__main__":
    sys.stdout.write(f"{jars()}\n")
