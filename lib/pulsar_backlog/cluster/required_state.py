"""Saved state that a run is given and cannot do without: a folder that says nothing is a mistake, and is said.

Without it an audit would look at no subscription, as if none were stalled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pulsar_backlog.cluster.saved_files import saved_files
from pulsar_backlog.counting import counted
from pulsar_backlog.errors import UsageError
from pulsar_backlog.findings.kinds import SNAPSHOT

if TYPE_CHECKING:
    from pulsar_backlog.cluster.known_documents import KnownDocuments
    from pulsar_backlog.cluster.values import ClusterState

_REMEDY = (
    "expected stats-internal, info-internal or stats JSON of topics, or raw cursor state: save it with "
    f"{SNAPSHOT}, or leave --admin out"
)


def look_at_admin(folder: str | None) -> None:
    """Look whether a folder holds a usable document; reads up to the first one.

    Raises:
        UsageError: it holds none.
    """
    if folder is None:
        return
    example, count = "", 0
    for file in saved_files(Path(folder)):
        if file.is_usable:
            return
        count += 1
        if not example or (file.unusable and ":" not in example):
            example = f"{file.path}: {file.unusable}" if file.unusable else file.path
    raise _nothing_usable(folder, f"{counted(count, 'file')}, such as {example}" if count else "it is empty")


def required_state(
    folder: Path,
    topics_of_ledgers: Mapping[int, str],
    earlier: Callable[[], KnownDocuments | None] = lambda: None,
) -> ClusterState:
    """What the files under a folder say, see `read_cluster_state`.

    Raises:
        UsageError: they say nothing of any topic.
    """
    from pulsar_backlog.cluster.admin_json import read_cluster_state  # noqa: PLC0415 - a first look does without

    state = read_cluster_state(folder, topics_of_ledgers, earlier=earlier)
    if state.is_empty:
        raise _nothing_usable(str(folder), state.findings[0].message.removesuffix("."))
    return state


def _nothing_usable(folder: str, why: str) -> UsageError:
    return UsageError(f"--admin {folder} holds no saved state that can be used ({why}): {_REMEDY}")
