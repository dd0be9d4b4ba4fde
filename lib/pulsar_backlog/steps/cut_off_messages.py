"""Messages behind the recorded ends of ledgers that were confirmed, and that nothing else in the log holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pulsar_backlog.runs.context import JobContext
from pulsar_backlog.sql.duck_values import portable_literal
from pulsar_backlog.sql.engines import query_engine
from pulsar_backlog.sql.views import named_in

VIEW = "confirmed_cut_off"


def cut_off_messages(context: JobContext, topics: Sequence[str] | None, limit: int) -> list[dict[str, Any]]:
    """The first rows of `conf/log/cut_off.sql`, by topic and position.

    Args:
        context: of the job.
        topics: only of these; None takes all.
        limit: rows at most.
    """
    if not (context.has("cut_off_entries") and context.has("entries")):
        return []
    names = ", ".join(map(portable_literal, topics or ()))
    wanted = "TRUE" if topics is None else f"v.topic IN ({names})"
    with query_engine(context, named_in(VIEW)[0]) as engine:
        engine.create_view(VIEW, engine.sql("sql", VIEW, {}))
        query = engine.sql("log", "cut_off", {"wanted": wanted, "limit": limit})
        return engine.rows({"cut_off": query})["cut_off"]
