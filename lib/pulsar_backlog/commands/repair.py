"""`repair`: apply a plan, and verify it. Nothing is changed without --yes."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pulsar_backlog.cluster.access import Access
from pulsar_backlog.commands.connection import (
    AdminUrlOption,
    Connection,
    EncryptionKeyOption,
    PrivateKeyFileOption,
    PublicKeyFileOption,
    ServiceUrlOption,
    connected,
)
from pulsar_backlog.commands.groups import Group
from pulsar_backlog.commands.repair_missing import missing as missing_command
from pulsar_backlog.commands.repair_plan import PlanArgument, audit_beside, record
from pulsar_backlog.commands.repair_plan import plan as plan_command
from pulsar_backlog.commands.repair_plan import show as show_command
from pulsar_backlog.foreign_text import MAX_SENTENCE, shell_word, visible
from pulsar_backlog.json_text import to_json
from pulsar_backlog.options import OPTIONS
from pulsar_backlog.options.printed import rendered
from pulsar_backlog.repair.applying.limits import Limits
from pulsar_backlog.terms import EXIT_CLEAN, EXIT_FINDINGS, EXIT_UNCHANGED

if TYPE_CHECKING:
    from pulsar_backlog.cluster.admin_rest import AdminRest
    from pulsar_backlog.repair.applying.apply import Outcome
    from pulsar_backlog.repair.applying.arrivals import Arrivals
    from pulsar_backlog.repair.applying.verify import Verdict
    from pulsar_backlog.repair.broker.client import Keys
    from pulsar_backlog.repair.broker.cluster import Door, Ledgers
    from pulsar_backlog.repair.values import Action, Plan

repair = typer.Typer(
    cls=Group,
    help="Put right what an audit found: plan it, apply the plan, verify it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
repair.command("plan")(plan_command)
repair.command("missing")(missing_command)
repair.command("show")(show_command)

_LIMITS = Limits()


@repair.command()
@connected
def apply(
    plan: PlanArgument,
    admin_url: AdminUrlOption,
    service_url: ServiceUrlOption,
    connection: Connection,
    yes: Annotated[bool, typer.Option("--yes", help="do it; without this, say only what would be done")] = False,
    allow_consumers: Annotated[
        bool,
        typer.Option("--allow-consumers", help="acknowledge on Shared subscriptions while consumers are connected"),
    ] = False,
    allow_no_deduplication: Annotated[
        bool, typer.Option("--allow-no-deduplication", help="republish even if a message may be stored twice")
    ] = False,
    allow_terminated: Annotated[
        bool, typer.Option("--allow-terminated", help="acknowledge on topics that are terminated")
    ] = False,
    source: Annotated[
        str | None,
        typer.Option(
            help="where the offloaded ledgers are now, if not where the plan says (for messages republished as stored)"
        ),
    ] = None,
    endpoint: Annotated[str | None, typer.Option(help=OPTIONS["endpoint"].words.help)] = None,
    max_actions: Annotated[int, typer.Option(min=1, help="most actions of one run")] = _LIMITS.actions,
    max_entries: Annotated[int, typer.Option(min=1, help="most entries that one run acknowledges")] = _LIMITS.entries,
    per_second: Annotated[float, typer.Option(min=0.1, help="most entries or messages a second")] = _LIMITS.per_second,
    encryption_key: EncryptionKeyOption = None,
    public_key_file: PublicKeyFileOption = None,
    private_key_file: PrivateKeyFileOption = None,
) -> None:
    """Apply a plan to a live cluster; without --yes this is a dry run. If it was killed, start it again."""
    from pulsar_backlog.repair.applying.apply import apply_plan, dry_run
    from pulsar_backlog.repair.applying.drift import Allowed
    from pulsar_backlog.repair.applying.journal import open_journal
    from pulsar_backlog.repair.broker.client import read_keys
    from pulsar_backlog.repair.broker.cluster import Ledgers
    from pulsar_backlog.repair.values import read_plan
    from pulsar_backlog.runs.claims import claimed

    access = connection.access()
    keys = read_keys(encryption_key or (), public_key_file or (), private_key_file)
    planned = read_plan(plan)
    ledgers = Ledgers(source, endpoint, connection.live(service_url, admin_url))
    allowed = Allowed(allow_consumers, allow_no_deduplication, has_keys=keys is not None, terminated=allow_terminated)
    journal = open_journal(plan, planned)
    if not yes:
        with _window(admin_url, service_url, access, planned) as (rest, arrivals):
            lines = _rows(dry_run(rest, planned, plan, journal, allowed, ledgers, arrivals))
        _show(planned, lines, "Dry run, nothing was changed: add --yes to apply.")
        raise typer.Exit(EXIT_FINDINGS if any(row.word in ("refused", "stopped") for row in lines) else EXIT_CLEAN)
    limits = Limits(max_actions, max_entries, per_second)
    with claimed(audit_beside(plan), "pulsar-backlog repair apply"):
        with _door(admin_url, service_url, access, keys, ledgers) as door, journal.locked():
            lines = _rows(apply_plan(door, planned, plan, journal, allowed, limits))
        record(plan)
    flags = {"--admin-url": admin_url, "--service-url": service_url, **connection.flags()}
    flags |= {"--encryption-key": encryption_key, "--public-key-file": public_key_file}
    _show(planned, lines, _verify_command(plan, flags | {"--private-key-file": private_key_file}))
    raise typer.Exit(_exit_code(lines))


@repair.command()
@connected
def verify(
    plan: PlanArgument,
    admin_url: AdminUrlOption,
    service_url: ServiceUrlOption,
    connection: Connection,
    encryption_key: EncryptionKeyOption = None,
    public_key_file: PublicKeyFileOption = None,
    private_key_file: PrivateKeyFileOption = None,
) -> None:
    """Check that a plan's changes are there and that nothing else changed; changes nothing itself."""
    from pulsar_backlog.repair.applying.journal import open_journal
    from pulsar_backlog.repair.applying.verify import verify_plan
    from pulsar_backlog.repair.broker.client import read_keys
    from pulsar_backlog.repair.broker.cluster import Ledgers
    from pulsar_backlog.repair.values import read_plan
    from pulsar_backlog.runs.claims import claimed

    access = connection.access()
    keys = read_keys(encryption_key or (), public_key_file or (), private_key_file)
    planned = read_plan(plan)
    journal = open_journal(plan, planned)
    with claimed(audit_beside(plan), "pulsar-backlog repair verify"):
        with _door(admin_url, service_url, access, keys, Ledgers()) as door:
            verdicts = list(verify_plan(door, planned, journal))
            _note(plan, verdicts, door)
        record(plan)
    rows = [_Row(verdict.action, verdict.verdict, verdict.note) for verdict in verdicts]
    _show(planned, rows, "")
    raise typer.Exit(EXIT_CLEAN if all(row.word == "verified" for row in rows) else EXIT_FINDINGS)


@dataclass(frozen=True)
class _Row:
    """What is said of one action."""

    action: Action
    word: str
    note: str


def _verify_command(plan: Path, flags: Mapping[str, Any]) -> str:
    words = (shell_word(word) for flag, value in flags.items() for word in rendered(flag, value))
    return " ".join((f"Next: pulsar-backlog repair verify {shell_word(str(plan))}", *words))


def _exit_code(rows: Iterable[_Row]) -> int:
    results = {row.word for row in rows} - {"advice", "kept"}
    if results <= {"done", "already"}:
        return EXIT_CLEAN if "done" in results else EXIT_UNCHANGED
    return EXIT_FINDINGS


def _rows(outcomes: Iterable[Outcome]) -> list[_Row]:
    return [_Row(outcome.action, outcome.status, " ".join(outcome.notes)) for outcome in outcomes]


@contextmanager
def _window(admin_url: str, service_url: str, access: Access, plan: Plan) -> Iterator[tuple[AdminRest, Arrivals]]:
    """What a dry run looks through: it changes nothing."""
    from pulsar_backlog.cluster.admin_http import AdminHttp
    from pulsar_backlog.cluster.admin_rest import AdminRest
    from pulsar_backlog.protocol.connection import Service
    from pulsar_backlog.repair.applying.arrivals import Arrivals

    with closing(AdminHttp(admin_url, access)) as http:
        yield AdminRest(http), Arrivals(Service(service_url, access), plan)


@contextmanager
def _door(admin_url: str, service_url: str, access: Access, keys: Keys | None, ledgers: Ledgers) -> Iterator[Door]:
    from pulsar_backlog.cluster.admin_http import AdminHttp
    from pulsar_backlog.protocol.connection import Service
    from pulsar_backlog.repair.broker.client import opened_client
    from pulsar_backlog.repair.broker.cluster import Door

    with closing(AdminHttp(admin_url, access)) as http, opened_client(service_url, access) as client:
        yield Door(
            http,
            client,
            Service(service_url, access),
            f"{os.environ.get('USER', os.getuid())}@{platform.node()}",
            lambda: time.time_ns() // 1_000_000,
            keys,
            ledgers,
        )


def _note(plan: Path, verdicts: list[Verdict], door: Door) -> None:
    """Keep what was seen beside the plan; of an action the newest line counts."""
    from pulsar_backlog.repair.applying.verify import VERIFIED_NAME

    with (plan / VERIFIED_NAME).open("a") as stream:
        for verdict in verdicts:
            fields = {"number": verdict.action.number, "verdict": verdict.verdict, "note": verdict.note}
            stream.write(to_json({**fields, "at_ms": door.now_ms(), "who": door.who}) + "\n")


def _show(plan: Plan, rows: list[_Row], next_step: str) -> None:
    """The verdict first, then a line per action; JSON lines where no one looks."""
    from rich.text import Text

    from pulsar_backlog.terminal import terminal

    counts = Counter(row.word for row in rows)
    console = terminal()
    if not console.is_terminal:
        for row in rows:
            action = row.action
            body = {
                "action": plan.action_id(action), "kind": action.kind, "topic": action.topic,
                "subscription": action.subscription, "entries": action.entry_count,
                "result": row.word, "note": row.note,
            }  # fmt: skip
            sys.stdout.write(to_json(body) + "\n")
        return
    verdict = ", ".join(f"{count:,} {word}" for word, count in counts.most_common()) or "nothing to do"
    console.print(Text(visible(f"Plan {plan.plan_id}: {verdict}."), style="bold"))
    for row in rows:
        where = f" of {row.action.subscription}" if row.action.subscription else ""
        line = f"{row.word:9} {row.action.number} {row.action.kind} {row.action.topic}{where}"
        console.print(visible(f"{line}: {row.note}" if row.note else line, MAX_SENTENCE))
    if next_step:
        console.print(visible(next_step, MAX_SENTENCE), soft_wrap=True)
