"""What kinds of messages the log holds for an application: alone or in a batch, inside a transaction or not."""

from __future__ import annotations

NO_TRANSACTION, COMMITTED, ABORTED, OPEN = range(4)
TRANSACTIONS = (None, "committed", "aborted", "open")
"""Names of the transaction states, by number."""

SINGLE_STATES = ("single", "batch")
"""States of messages that are not chunked."""
