"""TLS to servers of a cluster: whom to trust, and who we are."""

from __future__ import annotations

import ssl
from urllib.parse import urlsplit

from pulsar_backlog.cluster.access import TLS_SCHEMES, Access
from pulsar_backlog.errors import UsageError

_REMEDY_WITHOUT = "try again; if the server wants a certificate of its clients, give --cert-file and --key-file"


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


def tls_remedy(error: BaseException, access: Access) -> str:
    """What to do about a fault of TLS: what we say of a server, or a server of us, by an alert or by its silence."""
    words = str(error).upper()
    if "ALERT" not in words and "EOF" not in words:
        return "give the authority's certificate with --ca-file, or check the address"
    if access.cert_file:
        return "see that the server trusts the certificate of --cert-file, and that the address is right"
    if "ALERT" in words:
        return "the server wants a certificate of its clients: give --cert-file and --key-file"
    return _REMEDY_WITHOUT


def broken(error: BaseException, url: str, access: Access) -> tuple[str, str]:
    """Reason and words of a connection that broke; an alert of TLS may come when the handshake is done."""
    words = innermost_words(error)
    if isinstance(error, ssl.SSLError) or "SSL" in words:
        return "failed", f"no TLS ({words}): {tls_remedy(error, access)}"
    return "interrupted", f"the connection broke ({words}): {_broken_remedy(url, access)}"


def _broken_remedy(url: str, access: Access) -> str:
    """What to do; a server may break a connection before its alert about us is read."""
    if urlsplit(url).scheme not in TLS_SCHEMES:
        return f"try again; with TLS the address begins with {' or '.join(f'{one}://' for one in TLS_SCHEMES)}"
    if access.cert_file is None:
        return _REMEDY_WITHOUT
    return "try again, and see that the server trusts the certificate of --cert-file"


def innermost_words(error: BaseException) -> str:
    """The innermost reason, without addresses of Python objects."""
    inner = error.args[-1] if error.args else error
    text = str(inner.args[-1] if isinstance(inner, BaseException) and inner.args else inner)
    return " ".join(text.split())[:200]
