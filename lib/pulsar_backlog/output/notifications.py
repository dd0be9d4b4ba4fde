"""Messages to people, through apprise: a hundred services by addresses such as `slack://...` or `mailto://...`.

Addresses hold secrets. They come from the environment alone and are never printed: of one that fails the number is
told.
"""

from __future__ import annotations

import logging
import os

from pulsar_backlog.errors import UsageError
from pulsar_backlog.known_secrets import remember_secrets

VARIABLE = "PULSAR_BACKLOG_NOTIFY"
"""Holds the addresses, separated by blanks or line ends."""


def addresses() -> list[str]:
    """The addresses that the environment names; none where nobody is to be told."""
    texts = os.environ.get(VARIABLE, "").split()
    remember_secrets(*texts)
    return texts


def send(places: list[str], title: str, text: str) -> list[int]:
    """Send one message to each address: the numbers, from 1, of those that did not take it.

    Raises:
        UsageError: an address is none that apprise knows; then nothing is sent.
    """
    import apprise  # noqa: PLC0415 - a tenth of a second, for the few who are told

    logging.getLogger("apprise").setLevel(logging.CRITICAL + 1)  # it quotes addresses
    asset = apprise.AppriseAsset(app_id="pulsar-backlog", app_desc="pulsar-backlog", app_url="", async_mode=False)
    services = [apprise.Apprise.instantiate(place, asset=asset, suppress_exceptions=True) for place in places]
    if unknown := [str(number) for number, service in enumerate(services, start=1) if service is None]:
        raise UsageError(
            f"address {', '.join(unknown)} of {VARIABLE} is none that apprise knows, so nothing was sent: see "
            "docs/changes.md"
        )
    return [number for number, service in enumerate(services, start=1) if not _took(apprise, service, title, text)]


def _took(apprise: object, service: object, title: str, text: str) -> bool:
    one = apprise.Apprise()  # type: ignore[attr-defined]
    one.add(service)
    return bool(one.notify(body=text, title=title, body_format="text"))
