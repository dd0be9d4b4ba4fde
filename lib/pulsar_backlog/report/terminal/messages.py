"""Messages for a person, and as JSON lines for programs; what people sent is shown only where it is asked for."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from rich.table import Table

from pulsar_backlog.foreign_text import visible
from pulsar_backlog.messages.outcomes import OPENED
from pulsar_backlog.schemas.shapes import as_json

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

COLUMNS = (
    "topic", "ledger_id", "entry_id", "batch_index", "state", "outcome", "reason", "publish_time", "producer_name",
    "sequence_id", "payload_bytes",
)  # fmt: skip
VALUES = ("partition_key", "partition_key_b64_encoded", "properties", "payload")
"""Columns that hold what people sent."""
DECODED = ("value", "decode_error")
"""Columns that are there where payloads are decoded."""

_MAX_TEXT = 120


def print_messages(reader: pa.RecordBatchReader, limit: int, console: Console, *, as_json: bool) -> None:
    """Print the first `limit` rows of `messages`, each as soon as it is there; the reader is read no further."""
    rows = islice(_rows(reader), limit)
    if as_json or not console.is_terminal:
        for row in rows:
            console.file.write(json.dumps(_record(row)) + "\n")
        return
    _print_grid(rows, console)


def _rows(reader: pa.RecordBatchReader) -> Iterator[dict[str, Any]]:
    for batch in reader:
        for at in range(batch.num_rows):
            row: dict[str, Any] = batch.slice(at, 1).to_pylist()[0]
            if "value" in row:
                row["value"] = json.loads(
                    as_json(batch.column("value").slice(at, 1).to_pylist(maps_as_pydicts="lossy")[0])
                )
            yield row


def message_id(row: dict[str, Any]) -> str:
    """`LEDGER:ENTRY`, with the place in the batch for a member of one."""
    position = f"{row['ledger_id']}:{row['entry_id']}"
    return position if row["batch_index"] < 0 else f"{position}:{row['batch_index']}"


def _record(row: dict[str, Any]) -> dict[str, Any]:
    """A row as JSON has it: bytes are text where they are UTF-8, else base64 under a name that says so."""
    record: dict[str, Any] = {"type": "message", "message_id": message_id(row)}
    for name, value in row.items():
        if name == "payload":
            record |= _payload(value)
        elif name == "properties":
            record[name] = None if value is None else dict(value)
        elif name not in ("ledger_id", "entry_id", "batch_index"):
            record[name] = value.isoformat() if name == "publish_time" and value is not None else value
    return record


def _payload(value: bytes | None) -> dict[str, str | None]:
    try:
        return {"payload": None if value is None else value.decode()}
    except UnicodeDecodeError:
        return {"payload_base64": base64.b64encode(value or b"").decode()}


def _print_grid(rows: Iterable[dict[str, Any]], console: Console) -> None:
    grid = Table("message", "published (UTC)", "producer", "bytes", "kind", box=None, pad_edge=False)
    values: list[str] = []
    topic, count = None, 0
    for row in rows:
        count += 1
        shown = [f"{name}: {visible(text, _MAX_TEXT)}" for name, text in _values(row)]
        if row["topic"] != topic or shown or values:
            _flush(grid, values, console)
            grid = Table("message", "published (UTC)", "producer", "bytes", "kind", box=None, pad_edge=False)
        if row["topic"] != topic or count == 1:
            topic = row["topic"]
            console.print(visible(topic or "(topic not known)"), markup=False, highlight=False, style="bold")
        time = row["publish_time"]
        cells = (
            message_id(row), "" if time is None else time.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3],
            visible(row["producer_name"] or "", 40),
            "" if row["payload_bytes"] is None else f"{row['payload_bytes']:,}",
            row["state"] if row["outcome"] in OPENED else f"{row['outcome']}: {visible(row['reason'], _MAX_TEXT)}",
        )  # fmt: skip
        grid.add_row(*cells)
        values = shown
    _flush(grid, values, console)
    if not count:
        console.print("No message matches.")


def _flush(grid: Table, values: list[str], console: Console) -> None:
    if grid.row_count:
        console.print(grid, markup=False, highlight=False)
        for value in values:
            console.print(f"  {value}", markup=False, highlight=False, soft_wrap=True)


def _values(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What people sent, where it was asked for."""
    if row.get("partition_key") is not None:
        yield "key", row["partition_key"]
    for name, text in row.get("properties") or ():
        yield f"property {name}", text
    if row.get("value") is not None:
        yield "value", json.dumps(row["value"], ensure_ascii=False)
    if row.get("decode_error") is not None:
        yield "not decoded", row["decode_error"]
    if row.get("payload") is not None:
        ((name, value),) = _payload(row["payload"][:_MAX_TEXT]).items()
        yield name.replace("_", " in "), value or ""
