"""Which bucket an address names.

```
s3://BUCKET[/PREFIX]       gs://BUCKET[/PREFIX]
az://CONTAINER[/PREFIX]    abfss://CONTAINER@ACCOUNT.dfs.core.windows.net[/PREFIX]
```
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pulsar_backlog.errors import UsageError
from pulsar_backlog.ledgers.buckets.access import DEFAULT_ACCESS, Access

if TYPE_CHECKING:
    from pulsar_backlog.ledgers.buckets.bucket import Bucket
    from pulsar_backlog.ledgers.buckets.cloud import Cloud

FORMS = "s3://BUCKET, gs://BUCKET, az://CONTAINER or abfss://CONTAINER@ACCOUNT.dfs.core.windows.net"
"""How a bucket is written; each may be followed by /PREFIX."""

_SCHEMES = ("s3", "gs", "az", "abfss")
_OUTPUT_SCHEMES = ("s3a", "gs", "abfss")
_SERVICE_VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_AZURE_HOST = re.compile(r"[a-z0-9]{3,24}\.dfs\.[a-z0-9.-]+")


def is_bucket(source: str) -> bool:
    """Whether a source is a bucket rather than a folder."""
    return source.partition("://")[0] in _SCHEMES


def bucket_of(source: str, endpoint: str | None, access: Access, writes: bool = False) -> Bucket:
    """The bucket that an address names; nothing is asked of it yet.

    Args:
        source: the address.
        endpoint: of its service, where it is not the cloud's own or the environment's.
        access: bounds of what is asked.
        writes: whether it is to be written to.

    Raises:
        UsageError: it names none, or the endpoint is no address.
    """
    # Who reads folders does without clients of stores.
    from pulsar_backlog.ledgers.buckets.azure import Azure  # noqa: PLC0415
    from pulsar_backlog.ledgers.buckets.bucket import Bucket  # noqa: PLC0415
    from pulsar_backlog.ledgers.buckets.gcs import Gcs  # noqa: PLC0415
    from pulsar_backlog.ledgers.buckets.s3 import S3  # noqa: PLC0415

    scheme, _, rest = source.partition("://")
    name, _, prefix = rest.partition("/")
    name, at, host = name.partition("@")
    is_account = bool(_AZURE_HOST.fullmatch(host)) if scheme == "abfss" else not at
    if not name or not is_account:
        raise UsageError(f"{source!r} names no bucket; write {FORMS}, with /PREFIX if you want")
    _check_endpoint(endpoint)
    cloud: Cloud
    if scheme == "s3":
        cloud = S3(name, endpoint)
    else:
        cloud = Gcs(name, endpoint, writes) if scheme == "gs" else Azure(name, host or None, endpoint)
    prefix = prefix.strip("/")
    return Bucket(cloud, f"{prefix}/" if prefix else "", access)


def is_output_bucket(out: str) -> bool:
    """Whether an output address is a bucket, as Spark calls it."""
    return out.partition("://")[0] in _OUTPUT_SCHEMES


def output_bucket(out: str, endpoint: str | None = None) -> Bucket:
    """The bucket to write results to, as Spark calls it.

    Args:
        out: its address.
        endpoint: of its service, where it is not the cloud's own or the environment's.

    Raises:
        UsageError: it is none that files can be written to.
    """
    address = f"s3://{out.removeprefix('s3a://')}" if out.startswith("s3a://") else out
    if not is_bucket(address):
        raise UsageError(f"{out}: reports, plans and files go to a folder, s3a://, gs:// or abfss://: choose another")
    scheme, _, rest = address.partition("://")
    name, _, prefix = rest.partition("/")
    return _part(_whole(f"{scheme}://{name}", endpoint), prefix.strip("/"))


@lru_cache(maxsize=16)
def _whole(address: str, endpoint: str | None) -> Bucket:
    """A bucket without a prefix: who works below several of them looks for credentials once."""
    return bucket_of(address, endpoint, DEFAULT_ACCESS, writes=True)


@lru_cache(maxsize=256)
def _part(bucket: Bucket, prefix: str) -> Bucket:
    return replace(bucket, prefix=f"{prefix}/" if prefix else "")


def forget_output_buckets() -> None:
    """Look for services and credentials anew."""
    _whole.cache_clear()
    _part.cache_clear()


@contextmanager
def results_at(out: str | None, endpoint: str | None, source: str | None = None) -> Iterator[None]:
    """Let results in an `s3a://` bucket be reached as a source is, where environment and profile name no service.

    Args:
        out: where they lie; None for nowhere.
        endpoint: as `--endpoint` names it.
        source: where ledgers are read; the service of another cloud holds no such bucket.
    """
    is_shared = endpoint is not None and (out or "").startswith("s3a://") and not _is_other_cloud(source or "")
    if not is_shared or any(map(os.environ.get, _SERVICE_VARIABLES)) or own_endpoint(str(out)) is not None:
        yield
        return
    os.environ[_SERVICE_VARIABLES[0]] = str(endpoint)
    forget_output_buckets()
    try:
        yield
    finally:
        del os.environ[_SERVICE_VARIABLES[0]]
        forget_output_buckets()


def _is_other_cloud(source: str) -> bool:
    return is_bucket(source) and not source.startswith("s3://")


def own_endpoint(out: str) -> str | None:
    """The service of an output bucket that this machine's environment or profile names, for machines with another one.

    None where it is the cloud's own, and where an environment variable of the cloud names it everywhere.
    """
    from pulsar_backlog.ledgers.buckets.s3 import S3  # noqa: PLC0415

    cloud = output_bucket(out).cloud
    own = cloud.own_service if isinstance(cloud, S3) else None
    return None if own is None else own[0]


def _check_endpoint(endpoint: str | None) -> None:
    if endpoint is None:
        return
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"--endpoint {endpoint!r} is not an address such as http://127.0.0.1:9000")
    if parts.username or parts.password:
        raise UsageError("--endpoint must not carry credentials; they come from the environment")
