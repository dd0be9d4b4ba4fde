"""`snapshot`: what a live cluster says about its topics, saved for `audit --admin`."""

from __future__ import annotations

import sys
import time
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pulsar_backlog.arguments import absolute
from pulsar_backlog.commands.connection import AdminUrlOption, Connection, connected
from pulsar_backlog.counting import counted
from pulsar_backlog.errors import UsageError
from pulsar_backlog.options.printed import Run
from pulsar_backlog.terms import EXIT_CLEAN, EXIT_INCOMPLETE, EXIT_UNCHANGED

if TYPE_CHECKING:
    from pulsar_backlog.cluster.admin_rest import AdminRest
    from pulsar_backlog.cluster.snapshot import FetchedLayout, TopicFiles
    from pulsar_backlog.cluster.snapshot_index import SnapshotIndex

_SHOWN = 10


@connected
def snapshot(
    admin_url: AdminUrlOption,
    connection: Connection,
    out: Annotated[Path, typer.Option(help="folder of the snapshot", show_default=False)],
    topic: Annotated[list[str] | None, typer.Option(help="only topics that match this glob; may be repeated")] = None,
    parallel: Annotated[int, typer.Option(min=1, max=32, help="topics that are read at the same time")] = 4,
) -> None:
    """Save what a live cluster says about its topics, for audit --admin; only reads, and continues when killed."""
    from pulsar_backlog.cluster.admin_http import AdminHttp
    from pulsar_backlog.cluster.admin_rest import AdminRest, wanted_scalable_topics, wanted_topics
    from pulsar_backlog.cluster.snapshot import fetch_layouts, named_files
    from pulsar_backlog.cluster.snapshot_index import open_index
    from pulsar_backlog.runs.claims import claimed

    folder = Path(absolute("out", str(out)) or "")
    globs, begun_ms = tuple(topic or ("*",)), _now_ms()
    with closing(AdminHttp(admin_url, connection.access())) as http:
        rest = AdminRest(http)
        topics, scalable = wanted_topics(rest, globs), wanted_scalable_topics(rest, globs)
        layouts, without = fetch_layouts(rest, scalable)
        topics = sorted({*topics, *(name for one in layouts for name in one.migrated)})
        if not topics and not scalable:
            raise UsageError(f"no topic on {http.url} matches {' or '.join(globs)}: see --topic; * matches every topic")
        with claimed(str(folder), "pulsar-backlog snapshot"):
            index = open_index(folder, http.url, globs, begun_ms)
            todo = [file for file in named_files(topics) if not index.is_done(file.topic)]
            if not todo and index.finished_ms is not None:
                _show(index, folder, [], 0)
                raise typer.Exit(EXIT_UNCHANGED)
            missing = _save(rest, folder, index, todo, topics, layouts, parallel)
            missing += [f"{name}: {why}" for name, why in without.items()]
    _show(index, folder, missing, len(todo))
    raise typer.Exit(EXIT_INCOMPLETE if index.failed or scalable else EXIT_CLEAN)


def _save(
    rest: AdminRest,
    folder: Path,
    index: SnapshotIndex,
    todo: list[TopicFiles],
    topics: list[str],
    layouts: list[FetchedLayout],
    parallel: int,
) -> list[str]:
    from pulsar_backlog.cluster.admin_rest import parse_topic
    from pulsar_backlog.cluster.snapshot import save_cluster, save_layouts, save_topics
    from pulsar_backlog.progress import counting

    missing = save_cluster(rest, folder, sorted({parse_topic(name).namespace for name in topics}))
    save_layouts(folder, layouts)
    if layouts:
        what = f"ledgers and subscriptions of {counted(len(layouts), 'scalable topic')}, such as {layouts[0].topic}"
        missing.append(f"{what}: brokers tell only their layouts, a dump of the metadata store tells the rest")
    with counting("Saving topics", len(todo)) as advance:
        for _ in save_topics(rest, folder, index, todo, parallel, _now_ms):
            advance()
    index.finish(_now_ms())
    return missing


def _show(index: SnapshotIndex, folder: Path, missing: list[str], new: int) -> None:
    """The verdict first; JSON where no one looks."""
    from rich.text import Text

    from pulsar_backlog.foreign_text import MAX_SENTENCE, visible
    from pulsar_backlog.json_text import to_json
    from pulsar_backlog.terminal import terminal

    counts = Counter(entry.status for entry in index.entries.values())
    console = terminal()
    if not console.is_terminal:
        body = {
            "snapshot": str(folder),
            "begun": _utc(index.begun_ms),
            **{status: counts[status] for status in ("saved", "gone", "failed")},
            "new": new,
            "not_saved": {entry.topic: entry.note for entry in index.entries.values() if entry.status != "saved"},
            "unknown": missing,
        }
        sys.stdout.write(to_json(body) + "\n")
        return
    verdict = f"Saved {counted(counts['saved'], 'topic')}" if new else "Nothing to do: this snapshot is complete"
    rest = f"; gone meanwhile: {counts['gone']:,}; not readable: {counts['failed']:,}."
    console.print(Text.assemble((verdict, "bold"), rest))
    audit = Run("SOURCE", "DIR", {"admin": str(folder)}).command("audit")
    console.print(f"Begun {_utc(index.begun_ms)}. Next: {audit}", soft_wrap=True, highlight=False)
    for entry in index.failed[:_SHOWN]:
        console.print(f"Not saved: {visible(entry.note or entry.topic, MAX_SENTENCE)}")
    if len(index.failed) > _SHOWN:
        console.print(f"... and {len(index.failed) - _SHOWN:,} more; start the same command again to try only these.")
    for sentence in missing[:_SHOWN]:
        console.print(f"Left out: {visible(sentence, MAX_SENTENCE)}")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _utc(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="seconds")
