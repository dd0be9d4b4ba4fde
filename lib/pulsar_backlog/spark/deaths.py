"""What to say when the JVM or a Python worker of Spark was ended from outside, mostly by a system that lacks memory.

What reaches Python then are faults of connections, none of which says that somebody died.
"""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from pulsar_backlog.tasks.cores import cores
from pulsar_backlog.tasks.memory import memory

MAX_HEADLINE = 300
"""Characters of a foreign exception's words that a sentence quotes."""

_WORKER_SIGNS = (
    "Python worker exited unexpectedly", "Python worker failed to connect back", "PYTHON_WORKER_EXITED",
    "Failed to open socket to Python daemon", "Connection reset", "EOFException",
)  # fmt: skip
_SHELL_SIGNALS = 128
"""What a shell adds to the number of the signal that ended a program."""
_AGAIN = "what was committed stays. Start the same command again"
_WHILE_IT_STARTED = "ended while it started"
_java_memory: str | None = None
_killed_java: subprocess.Popen[bytes] | None = None
_CGROUP = Path("/sys/fs/cgroup/memory.max")


def death_words(chain: Sequence[BaseException]) -> str | None:
    """Who died, why most likely, and what to do, if that is behind an exception; None where nobody did.

    Args:
        chain: the exception, and those that it came from.
    """
    ended_by = _java_ended_by()
    if ended_by is not None:
        return (
            f"Java, in which Spark runs, was {ended_by}{_likely(ended_by)}: {_memory()}; {_AGAIN}, where nothing else "
            "needs as much memory, or give Java less: spark.driver.memory under `spark:` of the pipeline, in a file "
            "for --config"
        )
    if any(sign in words_of(one) for one in chain for sign in _WORKER_SIGNS):
        return (
            "a Python worker, or the daemon of Spark that forks them, was ended by the system, most likely for want of "
            f"memory: {_memory()}; {_AGAIN}, "
            "where nothing else needs as much memory, or with fewer workers: spark.master: local[1] under `spark:` of "
            "the pipeline, in a file for --config (on a cluster: spark.executor.cores, spark.executor.memoryOverhead)"
        )
    return None


def note_java_memory(setting: str | None) -> None:
    """How much memory the JVM of this process was given: nobody can ask it once it is gone."""
    global _java_memory  # noqa: PLW0603 - of the process, as its JVM is
    _java_memory = setting


def is_killed(java: subprocess.Popen[bytes], starts_now: Callable[[], bool]) -> bool:
    """Whether something ended a JVM that was being started; then `death_words` tells of it.

    Args:
        java: its process.
        starts_now: whether another one starts. Where the short JVM was killed that works out the command line, Spark's
            script ends with 1, as it does where a setting is wrong.
    """
    global _killed_java  # noqa: PLW0603 - as above
    code = java.poll()
    if code is None or (0 <= code <= _SHELL_SIGNALS and not starts_now()):
        return False
    _killed_java = java
    return True


def quiet_accumulators() -> None:
    """Let PySpark's server for accumulators log that a connection broke: when the JVM dies it prints a traceback."""
    import socketserver  # noqa: PLC0415 - where a session starts

    from pyspark import accumulators  # noqa: PLC0415 - as above

    for server in vars(accumulators).values():
        if isinstance(server, type) and issubclass(server, socketserver.BaseServer):
            server.handle_error = _log_broken_connection  # type: ignore[assignment]


def _log_broken_connection(*_: object) -> None:
    logging.getLogger(__name__).info("a connection to the JVM broke", exc_info=True)


def words_of(error: BaseException) -> str:
    """The words of an exception; none where Py4J asks a JVM for them that is gone."""
    try:
        return str(error)
    except Exception:  # of whatever kind the connection fails
        return ""


def _java_ended_by() -> str | None:
    """How the JVM that this process started has ended; None where it runs, or there is none."""
    pyspark = sys.modules.get("pyspark")
    process = _killed_java or getattr(getattr(getattr(pyspark, "SparkContext", None), "_gateway", None), "proc", None)
    if process is None:
        return None
    with suppress(subprocess.TimeoutExpired):
        process.wait(0.5)  # its connections break before it is gone
    code = process.returncode
    if code is None:
        return None
    if process is _killed_java and 0 <= code <= _SHELL_SIGNALS:
        return _WHILE_IT_STARTED
    number = -code if code < 0 else code - _SHELL_SIGNALS
    with suppress(ValueError):
        return f"ended by {signal.Signals(number).name}"
    return f"ended with code {code}"


def _likely(ended_by: str) -> str:
    is_usual = "SIGKILL" in ended_by or ended_by == _WHILE_IT_STARTED
    return ", most likely by a system that lacks memory" if is_usual else ""


def _memory() -> str:
    """How much memory Java was to have, and how much there is."""
    parts = [f"Java may use {_java_memory} (spark.driver.memory)"] if _java_memory else []
    if (of_machine := memory()) is not None:
        total, free = (size // 2**20 for size in of_machine)
        parts.append(f"the machine has {total:,} MB, of which {free:,} MB are free now")
    with suppress(OSError, ValueError):
        parts.append(f"this process may use {int(_CGROUP.read_text('ascii')) // 2**20:,} MB")
    return ", ".join([*parts, f"for {cores()} tasks at once"])


def headline(error: BaseException) -> str:
    """What an exception says, on one line: of a worker's stack trace the last one, of a JVM's the first."""
    words = [line.strip() for line in words_of(error).splitlines() if line.strip()]
    if not words:
        return type(error).__name__
    from_worker = any(line.startswith("Traceback (most recent call last)") for line in words)
    line = (words[-1] if from_worker else f"{type(error).__name__}: {words[0]}")[:MAX_HEADLINE]
    return line.rstrip(" .;:")
