"""Which messages are exported, how they are opened, and where they go."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from pulsar_backlog.options.checks import Count, MessageState, Texts, Uri, as_tuple
from pulsar_backlog.options.words import Frozen, Words


class ExportOptions(Frozen):
    """Which messages are exported, how they are opened, and where they go."""

    producer: Annotated[Texts | None, Words("only messages of this producer; may be repeated")] = None
    key: Annotated[Texts | None, Words("only messages with this key; may be repeated")] = None
    state: Annotated[
        Annotated[tuple[MessageState, ...], BeforeValidator(as_tuple)] | None,
        Words(
            "only messages in this state: single, batch, whole, out_of_order, malformed; may be repeated",
        ),
    ] = None
    transactions: Annotated[
        Literal["committed", "all"] | None,
        Words("committed, or all: also messages of aborted and open transactions", default="committed"),
    ] = None
    private_keys: Annotated[
        str | None,
        Words("PEM file of a private key, or folder of such files (NAME.pem for the key name NAME)", place=True),
    ] = None
    private_keys_command: Annotated[
        str | None, Words("command that writes private keys in PEM to its standard output; run without a shell")
    ] = None
    to: Annotated[Uri | None, Words("folder for the messages; default: that of the tables", place=True)] = None
    format: Annotated[
        Literal["delta", "parquet", "files"] | None,
        Words(
            "delta (table messages), parquet (messages.parquet) or files (each payload a file, messages.jsonl)",
            default="delta",
        ),
    ] = None
    decode: Annotated[
        str | None,
        Words(
            "a table of typed columns for each topic: schema (by its schemas), schema:VERSION, json, text, bytes or "
            "avro-with:FILE"
        ),
    ] = None
    columns: Annotated[Texts | None, Words("only this column of decoded messages; may be repeated")] = None
    mask: Annotated[
        Texts | None,
        Words("COLUMN=null, COLUMN=hash or COLUMN=redact, fields within columns after dots; may be repeated"),
    ] = None
    inline_limit_bytes: Annotated[
        Annotated[int, Field(ge=0, le=64 * 1024 * 1024)] | None,
        Words("largest payload to keep in the row; larger ones become files named by their SHA-256", default=262144),
    ] = None
    max_message_bytes: Annotated[
        Count | None,
        Words("largest message to export; one that is larger, or says so, gets no payload", default=1 << 30),
    ] = None
    only_cut_off: Annotated[
        bool | None,
        Words(
            "instead of the log's messages, those that were confirmed and lie behind the recorded end of their ledger "
            "(view confirmed_cut_off); needs --to"
        ),
    ] = None
