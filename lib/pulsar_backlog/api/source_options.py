"""Options of a source as keywords of Python: the names and checks of the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from pulsar_backlog.arguments import absolute_places
from pulsar_backlog.options import Options, given_options


class SourceKeywords(TypedDict, total=False):
    """What `pulsar_backlog.open` takes besides the source; each is explained as an option in docs/jobs.md."""

    endpoint: str
    admin: str
    schemas: str
    cluster: str
    private_keys: str
    private_keys_command: str
    store_attempts: int
    store_timeout_seconds: int
    store_range_bytes: int
    store_concurrency: int
    live: str
    admin_url: str
    max_rate: int
    min_rate: int
    token_file: str
    ca_file: str
    cert_file: str
    key_file: str
    timeout_seconds: int
    token_without_tls: bool
    broker_host: Sequence[str]


def checked_options(source: str, given: Mapping[str, object]) -> Options:
    """The options, with absolute places.

    Raises:
        UsageError: a name or value is wrong.
    """
    options = given_options({**given, "source": source})
    return options.model_copy(update=absolute_places(options.model_dump()))
