"""Where brokers are reached, and the one kind of fault that they answer with."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from pulsar_backlog.errors import SourceError

SCHEME, TLS_SCHEME = "pulsar", "pulsar+ssl"
_HOST = re.compile(r"[\w.:-]+")


class ClientError(SourceError):
    """The broker did not do what the client asked for."""


class NoConnectionError(ClientError):
    """There is no connection to the broker, or it does not even greet."""


def addresses_of(url: str) -> list[str]:
    """The addresses that a service URL names, each as a URL with host and port; none where it is no service URL."""
    addresses = []
    try:
        parts = urlsplit(url)
        for place in parts.netloc.split(","):
            one = urlsplit(f"//{place}")
            host = one.hostname or ""
            if one.username is not None or not _HOST.fullmatch(host):
                return []
            port = one.port or (6651 if parts.scheme == TLS_SCHEME else 6650)
            addresses.append(f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}")
    except ValueError:  # brackets that do not close, or a port that is none
        return []
    return addresses if parts.scheme in (SCHEME, TLS_SCHEME) else []
