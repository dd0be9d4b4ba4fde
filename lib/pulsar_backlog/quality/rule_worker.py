"""Rules checked by a process of its own: who asks for it does without Great Expectations and pandas."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulsar_backlog.tasks.pool import own_pool


def start_rule_worker() -> None:
    """Begin to start the process, and to import there what takes long."""
    own_pool().start_dedicated(_load)


def check_rules(
    rules: Path, summaries: Mapping[str, Sequence[Mapping[str, Any]]], data_docs: Path
) -> list[dict[str, Any]]:
    """Check every rule of a folder.

    Args:
        rules: the folder.
        summaries: rows of each summary, see `quality.summaries`.
        data_docs: folder for Great Expectations' pages; what it held before is replaced.

    Returns:
        Rows of `quality_results` without the column `cluster`, in the rules' order.

    Raises:
        UsageError: a rule cannot work; names file and rule.
        WorkerDeathError: the process was ended from outside.
    """
    return own_pool().run_dedicated(_load, _Check(rules, data_docs), summaries)


def _load(_: None) -> None:
    gc.disable()  # a quarter of a million objects that stay
    _with_room_for_frames(_import_all)
    gc.freeze()
    gc.enable()


def _import_all() -> None:
    from pulsar_backlog.quality import check, rules  # noqa: F401, PLC0415 - here alone, and so below
    from pulsar_backlog.quality.engine import gx  # noqa: PLC0415

    gx("great_expectations.expectations")


def _with_room_for_frames(call: Callable[[], None]) -> None:
    """Call something that calls deeply; see `_FRAME_WORDS`."""
    call()


_FRAME_WORDS = 32_768
"""CPython maps memory for frames by 16 KiB (`_PyThreadState_PushFrame`), and unmaps it when the first call in it
returns. Where a loop's calls begin such a piece, each of them costs that: 30,000 times in these imports, a sixth of the
time. A frame that needs more than a piece gets one of its own, twice as large, and all that it calls lies behind it."""
_with_room_for_frames.__code__ = _with_room_for_frames.__code__.replace(co_stacksize=_FRAME_WORDS)


@dataclass(frozen=True)
class _Check:
    rules: Path
    data_docs: Path

    def __call__(self, summaries: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
        from pulsar_backlog.quality.check import check  # noqa: PLC0415
        from pulsar_backlog.quality.rules import load_rules  # noqa: PLC0415
        from pulsar_backlog.quality.summaries import frames  # noqa: PLC0415

        return check(load_rules(self.rules), frames(summaries), self.data_docs)
