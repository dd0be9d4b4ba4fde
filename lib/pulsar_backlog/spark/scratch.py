"""Where Spark keeps blocks, shuffled rows and temporary files for a while: folders that only their owner may enter.

They may hold payloads. Spark leaves files as open as the system's umask does, and Java has /tmp, whatever TMPDIR says.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from pulsar_backlog.errors import UsageError
from pulsar_backlog.interrupts import at_end

VARIABLE = "SPARK_LOCAL_DIRS"
_SETTING = "spark.local.dir"
_OPTIONS = "spark.driver.extraJavaOptions"
_SOCKETS = "spark.python.unix.domain.socket.dir"
_MAX_SOCKET_FOLDER = 60
"""Bytes of the path of a folder for Unix domain sockets, as Spark checks it."""


def scratch_folders(chosen: str | None = None) -> list[str]:
    """The folders in which a user wants them: `chosen` is the setting of Spark, which the environment goes before."""
    named = os.environ.get(VARIABLE) or chosen or tempfile.gettempdir()
    return [folder for folder in named.split(",") if folder]


def with_private_folders(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings that have a JVM, which is to be started by this process, and its workers use private folders.

    Raises:
        UsageError: none can be made.
    """
    folders = _private_folders(settings.get(_SETTING))
    os.environ[VARIABLE] = ",".join(folders)  # goes before the setting, for PySpark's workers too
    options = f'{settings.get(_OPTIONS, "")} "-Djava.io.tmpdir={folders[0]}"'.strip()
    return {**settings, _SETTING: os.environ[VARIABLE], _OPTIONS: options, _SOCKETS: _for_sockets(folders[0])}


def driver_folders(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings that have a driver which spark-submit started keep its blocks in private folders; none where it cannot.

    Workers of a standalone cluster have folders of their own, which this setting does not reach. Where the environment
    of Java named folders, they stay what they are. Elsewhere they are the cluster's.

    Args:
        settings: that spark-submit was given.

    Raises:
        UsageError: none can be made.
    """
    if os.environ.get(VARIABLE) or not settings.get("spark.master", "").startswith(("spark://", "local")):
        return {}
    return {_SETTING: ",".join(_private_folders(settings.get(_SETTING)))}


def _private_folders(chosen: str | None) -> list[str]:
    try:
        return [_private(folder) for folder in scratch_folders(chosen)]
    except OSError as error:
        words = f"{error.filename}: no folder for Spark's temporary files can be made there ({error.strerror})"
        raise UsageError(f"{words}: name another one by {VARIABLE}") from error


def _private(folder: str) -> str:
    Path(folder).mkdir(parents=True, exist_ok=True)
    made = tempfile.mkdtemp(prefix="pulsar-backlog-spark-", dir=folder)
    at_end(partial(shutil.rmtree, made, ignore_errors=True))
    return made


def _for_sockets(folder: str) -> str:
    return folder if len(os.fsencode(folder)) <= _MAX_SOCKET_FOLDER else _private("/tmp")  # noqa: S108 - short
