"""Ports on loopback for servers that tests start."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack

# Below those that Linux and macOS give to outgoing connections: a server binds its port seconds after it got it, and
# in the meantime a connection of another test was given it (seen: a broker that did not start).
_OURS = range(15_000, 32_000)


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago, on every address; held together, so that none is given twice."""
    chosen: list[int] = []
    with ExitStack() as stack:
        for port in random.SystemRandom().sample(_OURS, len(_OURS)):
            if len(chosen) == count:
                break
            try:
                stack.enter_context(socket.socket()).bind(("", port))
            except OSError:
                continue
            chosen.append(port)
    return chosen


def free_port() -> int:
    """One of them."""
    return free_ports(1)[0]
