"""Where ledgers are read, and which of them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from pulsar_backlog.options.checks import Count, Instant, LedgerRange, Percent, Service, Texts, Uri, as_tuple
from pulsar_backlog.options.words import Frozen, Words


class SourceOptions(Frozen):
    """Where ledgers are read, and which of them."""

    source: Annotated[
        Uri | None,
        Words(
            "folder, s3://, gs://, az:// or abfss:// bucket that holds the offloaded ledgers, or pulsar:// brokers",
            place=True,
            required=True,
        ),
    ] = None
    endpoint: Annotated[Uri | None, Words("address of the bucket's service, where it is not the cloud's own")] = None
    store_attempts: Annotated[
        Count | None, Words("tries of one request that a bucket throttles, fails, cuts or delays; default 10")
    ] = None
    store_timeout_seconds: Annotated[Count | None, Words("how long one request to a bucket may take; default 120")] = (
        None
    )
    store_range_bytes: Annotated[Count | None, Words("bytes of one request to a bucket at most; default 8388608")] = (
        None
    )
    store_concurrency: Annotated[
        Count | None, Words("requests of one process to a bucket under way at once; default 16")
    ] = None
    live: Annotated[
        Service | None, Words("brokers, such as pulsar://broker:6650, that read what the source does not hold")
    ] = None
    admin_url: Annotated[
        Uri | None, Words("web service of a broker, such as http://broker:8080, to read live topics")
    ] = None
    max_rate: Annotated[Count | None, Words("bytes a second that are read from brokers at most; default 10485760")] = (
        None
    )
    token_file: Annotated[
        str | None,
        Words("file that holds the token for brokers; without it PULSAR_BACKLOG_TOKEN counts", place=True),
    ] = None
    ca_file: Annotated[str | None, Words("certificates (PEM) that those of brokers must descend from", place=True)] = (
        None
    )
    cert_file: Annotated[str | None, Words("our certificate (PEM) for brokers", place=True)] = None
    key_file: Annotated[str | None, Words("key (PEM) of --cert-file", place=True)] = None
    timeout_seconds: Annotated[Count | None, Words("how long one answer of a broker may take; default 30")] = None
    token_without_tls: Annotated[
        bool | None, Words("send the token also where it can be read on the way (http://, pulsar://)")
    ] = None
    broker_host: Annotated[
        Texts | None, Words("host (glob) that is a broker of the cluster though it does not list it; may be repeated")
    ] = None
    admin: Annotated[
        str | None,
        BeforeValidator(lambda text: text or None),  # an Airflow variable that is not set
        Words("folder of saved admin JSON (stats-internal, info-internal, stats) and raw cursor state", place=True),
    ] = None
    topic: Annotated[Texts | None, Words("only topics that match this glob; may be repeated")] = None
    ledger: Annotated[
        Annotated[tuple[LedgerRange, ...], BeforeValidator(as_tuple)] | None,
        Words("only this ledger id or range A-B (inclusive); may be repeated"),
    ] = None
    since: Annotated[Instant | None, Words("only ledgers that may hold messages from this time on (ISO 8601, UTC)")] = (
        None
    )
    until: Annotated[Instant | None, Words("only ledgers that may hold messages before this time (ISO 8601, UTC)")] = (
        None
    )
    budget_bytes: Annotated[
        Count | None, Words("bytes of data objects that this run reads at most, the newest ledgers first")
    ] = None
    sample: Annotated[
        Percent | None, Words("percentage of each topic's bytes that is read, such as 10; the newest ledgers first")
    ] = None
    limit: Annotated[Count | None, Words("ledgers that this run reads at most, the newest first")] = None
