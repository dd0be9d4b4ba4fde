"""`result.json` of an audit that has not ended well: it says so, and has the last one that did end as `last`.

Who reads it while an audit runs, or after one was killed, must not take the earlier verdict for the answer. That one is
true again when an audit finds nothing new.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from pulsar_backlog.errors import SourceError
from pulsar_backlog.foreign_text import MAX_SENTENCE, visible
from pulsar_backlog.json_text import to_json
from pulsar_backlog.runs.endings import outcome_of
from pulsar_backlog.tableio.beside import Beside, beside, is_reached
from pulsar_backlog.terms import RESULT_NAME, RESULT_VERSION

FINISHED = "finished"
"""The state of a result that is the answer; `unfinished` and `stopped` are the others."""
_UNFINISHED = (
    "an audit began and has not ended: it still runs, or it was killed; start the same command again, and see `last` "
    "for what the audit before it found"
)

Result = dict[str, Any]


@dataclass(frozen=True)
class Attempt:
    """An audit, or one of its jobs, as `result.json` names it.

    Attributes:
        files: beside the tables.
        job: that runs; None before the first.
        cluster: whose tables are written.
        started: when.
        last: the result that was there before, None where there was none.
        last_text: the same as JSON on one line, since each job writes it: with an indent it takes fifty times as long.
        was_finished: whether that one was the answer until now.
    """

    files: Beside
    job: str | None
    cluster: str
    started: datetime
    last: Result | None
    last_text: str
    was_finished: bool

    def write(self, state: Literal["unfinished", "stopped"], exit_code: int | None, message: str) -> None:
        """Let the result say that it is none."""
        result = {
            "schema_version": RESULT_VERSION,
            "state": state,
            "cluster": self.cluster,
            "job": self.job,
            "started_ms": int(self.started.timestamp() * 1000),
            "exit_code": exit_code,
            "message": visible(message, MAX_SENTENCE),
        }
        members = [f" {to_json(name)}: {to_json(value)}" for name, value in result.items()]
        text = "{\n" + ",\n".join([*members, f' "last": {self.last_text}']) + "\n}\n"
        self.files.write(RESULT_NAME, text)
        _written[:] = [(text.encode(), self)]

    def stop(self, exit_code: int) -> None:
        """Say of an audit that ended so that it did not end well, where its jobs have not said more."""
        now = _read(self.files) or {}
        says_earlier = now == self.last and now.get("exit_code") != exit_code
        if now.get("state") == "unfinished" or says_earlier:
            self.write("stopped", exit_code, "the audit did not end well; what it said on standard error tells why")

    def take_back(self) -> None:
        """Put the result that was there back, where it was the answer and still is."""
        if self.was_finished and self.last is not None:
            put_back(self.files, self.last)


_written: list[tuple[bytes, Attempt]] = []
"""What this process wrote last, and by which attempt: the next job of an audit finds it, and need not parse it."""


@contextmanager
def attempt(
    out: str | None, job: str | None, cluster: str, started: datetime, *, makes: bool = False
) -> Iterator[Attempt | None]:
    """Let `result.json` say that an audit has not ended while the block runs, and what stopped it where it fails.

    Args:
        out: folder or bucket of the tables.
        job: that runs.
        cluster: whose tables it writes.
        started: when.
        makes: whether it will make the file: else one that is not there stays away, and None is yielded.
    """
    files = beside(out) if out is not None and is_reached(out) else None
    content = None if files is None else _content(files)
    if files is None or (content is None and not makes):
        yield None
        return
    if _written and content == _written[0][0]:
        before = _written[0][1]
        made = replace(before, files=files, job=job, cluster=cluster, started=started, was_finished=False)
    else:
        earlier = _parsed(content)
        last, is_finished = _finished(earlier), (earlier or {}).get("state", FINISHED) == FINISHED
        made = Attempt(files, job, cluster, started, last, to_json(last), is_finished)
    made.write("unfinished", None, _UNFINISHED)
    try:
        yield made
    except BaseException as error:
        with suppress(Exception):  # what stopped it counts
            made.write("stopped", *outcome_of(error))
        raise


def last_result(files: Beside) -> Result | None:
    """The last result that was the answer; None where there is none."""
    return _finished(_read(files))


def put_back(files: Beside, result: Result) -> None:
    """Make a result the answer again."""
    files.write(RESULT_NAME, to_json(result, indent=1) + "\n")


def add_to_result(files: Beside, name: str, value: object) -> None:
    """Add something to the result, or replace it there, where the result is an answer."""
    result = _read(files)
    if result and result.get("state", FINISHED) == FINISHED:
        put_back(files, {**result, name: value})


def _finished(result: Result | None) -> Result | None:
    if result is None or result.get("state", FINISHED) == FINISHED:  # earlier versions wrote no state
        return result or None
    last = result.get("last")
    return last if isinstance(last, dict) else None


def _read(files: Beside) -> Result | None:
    """What the file says, nothing where it is damaged; None where there is none."""
    return _parsed(_content(files))


def _content(files: Beside) -> bytes | None:
    try:
        return files.read(RESULT_NAME)
    except FileNotFoundError:
        return None
    except SourceError as error:
        if error.reason == "not_found":
            return None
        raise


def _parsed(content: bytes | None) -> Result | None:
    if content is None:
        return None
    with suppress(ValueError):
        document = json.loads(content)
        return document if isinstance(document, dict) else {}
    return {}
