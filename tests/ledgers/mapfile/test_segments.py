"""MapFiles of a segment of a scalable topic, as a filesystem offloader of 5.0.0-M1 wrote them."""

from __future__ import annotations

from pulsar_backlog.ledgers.inventory import inventory
from tests.auditing import DATA
