"""What to say when a cluster runs another Spark or Python than the driver, which shows when a task fails.

| who differs | what reaches the driver |
|---|---|
| master's Spark | no answer: the master cannot read the application, and Spark stops it after a minute |
| executors' Spark | `InvalidClassException` of a class of Spark or Scala: classes carry a number of their release |
| executors' Python | `PYTHON_VERSION_MISMATCH`: functions are sent as bytecode, which is of one minor release |

Seen on standalone clusters of Spark 4.0 and 4.2 with a driver of 4.1, and of executors with another Python;
`tests/versions/test_another_cluster.py` says when the words change.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pulsar_backlog.errors import UsageError
from pulsar_backlog.spark.deaths import words_of

_OTHER_CLASSES = re.compile(r"InvalidClassException: (?:org\.apache\.spark|scala)\.[\w.$]+; local class incompatible")
_OTHER_PYTHON = re.compile(
    r"\[PYTHON_VERSION_MISMATCH\] Python in worker has different version: (\S+) than that in driver: (\S+),"
)
_STOPPED = "Cannot call methods on a stopped SparkContext"


def mismatch_words(chain: Sequence[BaseException]) -> str | None:
    """Who runs what, and the remedy, if that is behind an exception; None where it is not.

    Args:
        chain: the exception, and those that it came from.
    """
    for words in map(words_of, chain):
        if _OTHER_CLASSES.search(words):
            return (
                f"the cluster's executors run another Spark than this driver, which has {_spark()}: submit with the "
                "cluster's release, with pyspark of it in the driver's environment (pip install 'pyspark==...') and "
                "the jars made for it, as docs/cluster.md says"
            )
        if pythons := _OTHER_PYTHON.search(words):
            theirs, mine = pythons.groups()
            return (
                f"the cluster's executors run Python {theirs}, and this driver Python {mine}: let "
                f"--conf spark.pyspark.python=... (on one machine PYSPARK_PYTHON) name a Python {mine} that "
                "executors have, or send one along with --archives"
            )
    return None


@contextmanager
def refusals_as_usage_errors() -> Iterator[None]:
    """Let it leave the block as what a user can mend that a cluster does not take the application that starts in it.

    Raises:
        UsageError: its master does not answer, or cannot read what this Spark sends.
    """
    try:
        yield
    except Exception as error:
        if _STOPPED not in words_of(error) or _is_interrupt(error):
            raise
        raise UsageError(
            f"the Spark cluster{_master()} did not take this application: no master answers there, or it runs another "
            f"Spark than this driver, which has {_spark()} (the master's log then says InvalidClassException): submit "
            "with the cluster's release, with pyspark of it in the driver's environment (pip install 'pyspark==...')"
        ) from error


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an exception: Spark stops then too."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def _master() -> str:
    pyspark = sys.modules.get("pyspark")
    context = getattr(getattr(pyspark, "SparkContext", None), "_active_spark_context", None)
    return f" at {context.master}" if context is not None else ""


def _spark() -> str:
    pyspark = sys.modules.get("pyspark")
    return f"Spark {pyspark.__version__}" if pyspark else "none"
