"""`repair missing`: a plan that publishes on one side of a comparison what only the other side holds."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pulsar_backlog.arguments import absolute
from pulsar_backlog.commands.options import EndpointOption
from pulsar_backlog.errors import UsageError
from pulsar_backlog.terms import EXIT_CLEAN

if TYPE_CHECKING:
    from pulsar_backlog.repair.planning.folder import Payload
    from pulsar_backlog.sql.missing_messages import Missing

MOST_MESSAGES = 10_000
"""Messages of one plan; the next one takes what is left."""


def missing(
    out: Annotated[
        str, typer.Argument(metavar="COMPARED", help="folder or bucket of a comparison", show_default=False)
    ],
    side: Annotated[str, typer.Option("--side", help="the side that lacks messages: a or b", show_default=False)],
    from_cluster: Annotated[
        str | None,
        typer.Option("--from-cluster", help="how that side names the other cluster, where its log does not say"),
    ] = None,
    max_count: Annotated[int, typer.Option("--max-count", min=1, help="messages of the plan at most")] = MOST_MESSAGES,
    endpoint: EndpointOption = None,
) -> None:
    """Plan to publish on one side of a comparison what only the other side holds; its audit must be exported."""
    from pulsar_backlog.repair.applying.journal import open_journal
    from pulsar_backlog.repair.applying.trail import action_rows, plan_state, read_verdicts
    from pulsar_backlog.repair.planning.folder import store_plan
    from pulsar_backlog.repair.planning.replicating import plan_replicating
    from pulsar_backlog.repair.values import PLAN_NAME
    from pulsar_backlog.report.terminal.repair import HeldBackRow, PlanView, print_plan
    from pulsar_backlog.sql.missing_messages import missing_messages
    from pulsar_backlog.tableio.beside import beside

    if side not in ("a", "b"):
        raise UsageError(f"--side {side}: a is the first audit of the comparison, b the second")
    place = absolute("out", out) or ""
    lacks = missing_messages(place, side, max_count, endpoint)
    home = _home(lacks, from_cluster)
    planned, messages = plan_replicating(lacks.cluster, lacks.rows, side, home, lacks.streams, lacks.ends)
    reasons = Counter((one.why, one.next_step) for one in planned.held_back)
    untouched = [HeldBackRow(why, next_step, count) for (why, next_step), count in reasons.items()]
    if not planned.plan.actions:
        print_plan(PlanView(planned.plan.plan_id, None, "planned", (), untouched, lacks.more))
        raise typer.Exit(EXIT_CLEAN)
    files, name = beside(place), f"plans/{planned.plan.plan_id}"
    with tempfile.TemporaryDirectory(prefix="pulsar-backlog-") as scratch, files.folder(name, last=PLAN_NAME) as at:
        store_plan(at, planned, _payloads(lacks, messages, Path(scratch)))
        rows = action_rows(planned.plan, open_journal(at, planned.plan), read_verdicts(at))
    print_plan(PlanView(planned.plan.plan_id, files.uri(name), plan_state(rows), tuple(rows), untouched, lacks.more))
    raise typer.Exit(EXIT_CLEAN)


def _home(lacks: Missing, named: str | None) -> str:
    """What the side calls the cluster that has the messages.

    Raises:
        UsageError: its log does not say, or names several.
    """
    if named is not None:
        return named
    if len(lacks.streams) != 1 and lacks.rows:
        seen = ", ".join(lacks.streams) or "none"
        raise UsageError(f"name the cluster that has the messages with --from-cluster (replicated from there: {seen})")
    return lacks.streams[0] if lacks.streams else ""


def _payloads(lacks: Missing, messages: Sequence[Mapping[str, Any]], scratch: Path) -> dict[int, Payload]:
    """Where the payload of each action's message lies."""
    from pulsar_backlog.repair.planning.folder import Payload
    from pulsar_backlog.tableio.beside import beside

    files = beside(lacks.audit)
    made = {}
    for number, row in enumerate(messages):
        name = row["payload_file"]
        file = None if name is None else files.local(name, scratch / str(number))
        made[number] = Payload(None if row["payload"] is None else bytes(row["payload"]), file)
    return made
