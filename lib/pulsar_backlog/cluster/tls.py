"""TLS to servers of a cluster: whom to trust, and who we are."""

from __future__ import annotations

import ssl

from pulsar_backlog.cluster.access import Access
from pulsar_backlog.errors import UsageError


def tls_context(access: Access) -> ssl.SSLContext:
    """Whom to trust, and who we are; a server's certificate must name its host.

    Raises:
        UsageError: a certificate cannot be used.
    """
    try:
        context = ssl.create_default_context(cafile=access.ca_file)
        if access.cert_file:
            context.load_cert_chain(access.cert_file, access.key_file)
    except (ssl.SSLError, OSError) as error:
        files = ", ".join(str(path) for path in (access.ca_file, access.cert_file, access.key_file) if path)
        raise UsageError(
            f"the certificates cannot be used ({files}): {innermost_words(error)}; PEM files are expected"
        ) from None
    return context


def innermost_words(error: BaseException) -> str:
    """The innermost reason, without addresses of Python objects."""
    inner = error.args[-1] if error.args else error
    text = str(inner.args[-1] if isinstance(inner, BaseException) and inner.args else inner)
    return " ".join(text.split())[:200]
