"""The folder of saved state that a run is given, as fingerprints of jobs name it; what it says, `known_state` reads."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache

from pulsar_backlog.cluster.digest import FolderState, folder_state
from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.runs.run_folder import current_run

TABLE = "saved_states"
"""What earlier audits were given."""


def state_inputs(context: JobContext) -> dict[str, object]:
    """What of saved state decides a job's result, for its fingerprint."""
    admin = context.options.admin
    return {"admin": state_folder(context).digest, "earlier": context.version(TABLE) if admin is None else None}


def state_folder(context: JobContext) -> FolderState:
    """The folder of saved state as the run found it, all jobs of an audit alike: to look at its files takes a while."""
    return _folder_of(context.options.admin, current_run() or context.run_id)


@lru_cache(maxsize=1)
def _folder_of(folder: str | None, _run: Hashable) -> FolderState:
    return folder_state(folder)
