"""Which bucket an address names.

```
s3://BUCKET[/PREFIX]       gs://BUCKET[/PREFIX]
az://CONTAINER[/PREFIX]    abfss://CONTAINER@ACCOUNT.dfs.core.windows.net[/PREFIX]
```
"""

from __future__ import annotations

import re
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


@lru_cache(maxsize=16)
def output_bucket(out: str) -> Bucket:
    """The bucket to write results to, as Spark calls it; its service is the cloud's own or the environment's.

    Raises:
        UsageError: it is none that files can be written to.
    """
    address = f"s3://{out.removeprefix('s3a://')}" if out.startswith("s3a://") else out
    if not is_bucket(address):
        raise UsageError(f"{out}: reports, plans and files go to a folder, s3a://, gs:// or abfss://: choose another")
    return bucket_of(address, None, DEFAULT_ACCESS, writes=True)


def _check_endpoint(endpoint: str | None) -> None:
    if endpoint is None:
        return
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"--endpoint {endpoint!r} is not an address such as http://127.0.0.1:9000")
    if parts.username or parts.password:
        raise UsageError("--endpoint must not carry credentials; they come from the environment")
