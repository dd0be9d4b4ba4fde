"""Where results go, what a verdict waits for, and what makes an exit code."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from pulsar_backlog.options.checks import Count, ModelName, Uri, as_tuple
from pulsar_backlog.options.words import Frozen, Words


class ResultOptions(Frozen):
    """Where results go, what a verdict waits for, and what makes an exit code."""

    out: Annotated[
        Uri | None, Words("folder of tables and reports, or s3a://, gs://, abfss:// bucket", place=True, required=True)
    ] = None
    cluster: Annotated[
        Annotated[str, Field(min_length=1)] | None,
        Words("name of the Pulsar cluster in the tables", default="default"),
    ] = None
    fail_on: Annotated[
        Literal["error", "warning", "new-error", "new-warning", "never"] | None,
        Words(
            "lowest severity of findings that makes the exit code 1: error, warning, never; new-error or new-warning: "
            "only for what the audit before did not find",
            default="error",
        ),
    ] = None
    known: Annotated[
        str | None,
        Words("file of findings that somebody answers for until a day, see docs/changes.md", place=True),
    ] = None
    report_url: Annotated[
        Uri | None, Words("where people open report.html, for messages about what changed; default: in --out")
    ] = None
    metrics: Annotated[
        str | None,
        Words("file to write numbers to, as Prometheus reads them (node_exporter's textfile collector)", place=True),
    ] = None
    exit_zero_when_unchanged: Annotated[
        bool | None, Words("exit with 0 instead of 99 when there is nothing new to do")
    ] = None
    grace_seconds: Annotated[
        Annotated[int, Field(ge=0)] | None,
        Words("an incomplete message this near the end of the log may still be arriving", default=120),
    ] = None
    model: Annotated[
        Annotated[tuple[ModelName, ...], BeforeValidator(as_tuple)] | None,
        Words("client to model, such as java or python:max_pending=50,live, see docs/clients.md; may be repeated"),
    ] = None
    max_ack_ranges: Annotated[
        Count | None,
        Words("the broker's managedLedgerMaxUnackedRangesToPersist, for predictions; by default as saved"),
    ] = None
    max_batch_acks: Annotated[
        Count | None,
        Words("the broker's managedLedgerMaxBatchDeletedIndexToPersist, for predictions; by default as saved"),
    ] = None
