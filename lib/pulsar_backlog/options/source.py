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
            "where the ledgers are: a folder, an s3://, gs://, az:// or abfss:// bucket, or pulsar:// brokers",
            place=True,
            required=True,
        ),
    ] = None
    endpoint: Annotated[
        Uri | None, Words("address of the service of the buckets of ledgers and results, if it is not the cloud's own")
    ] = None
    store_attempts: Annotated[
        Count | None,
        Words("how often one request is tried that a bucket throttles, fails, cuts off or delays; default 10"),
    ] = None
    store_timeout_seconds: Annotated[
        Count | None, Words("how long one request to a bucket may take, with all its tries; default 120")
    ] = None
    store_range_bytes: Annotated[Count | None, Words("most bytes of one request to a bucket; default 8388608")] = None
    store_concurrency: Annotated[
        Count | None, Words("requests to a bucket that one process makes at the same time; default 16")
    ] = None
    live: Annotated[
        Service | None, Words("brokers, such as pulsar://broker:6650, from which to read what the source does not hold")
    ] = None
    admin_url: Annotated[
        Uri | None, Words("web service of a broker, such as http://broker:8080, to read live topics")
    ] = None
    max_rate: Annotated[Count | None, Words("most bytes a second to read from brokers; default 10485760")] = None
    min_rate: Annotated[
        Count | None,
        Words("bytes a second below which reading from a broker that lets us wait is given up; default 16384"),
    ] = None
    token_file: Annotated[
        str | None,
        Words("file that holds the token for brokers; default: the variable PULSAR_BACKLOG_TOKEN", place=True),
    ] = None
    ca_file: Annotated[
        str | None, Words("certificates (PEM) of the authorities that may sign the brokers' certificates", place=True)
    ] = None
    cert_file: Annotated[str | None, Words("our certificate (PEM) for brokers", place=True)] = None
    key_file: Annotated[str | None, Words("key (PEM) of --cert-file", place=True)] = None
    timeout_seconds: Annotated[Count | None, Words("how long a broker may take for one answer; default 30")] = None
    token_without_tls: Annotated[
        bool | None, Words("send the token also without TLS (http://, pulsar://), where others on the way can read it")
    ] = None
    broker_host: Annotated[
        Texts | None,
        Words("host (glob) that is a broker of the cluster although the cluster does not list it; may be repeated"),
    ] = None
    admin: Annotated[
        str | None,
        BeforeValidator(lambda text: text or None),  # an Airflow variable that is not set
        Words("folder of saved admin JSON (stats-internal, info-internal, stats) and raw cursor state", place=True),
    ] = None
    schemas: Annotated[
        str | None,
        Words("folder of schemas (TENANT__NAMESPACE__TOPIC.schemas.json) to decode messages by", place=True),
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
        Count | None, Words("most bytes of data objects to read in this run, the newest ledgers first")
    ] = None
    sample: Annotated[
        Percent | None, Words("percentage of each topic's bytes to read, such as 10; the newest ledgers first")
    ] = None
    limit: Annotated[Count | None, Words("most ledgers to read in this run, the newest first")] = None
