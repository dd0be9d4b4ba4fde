"""What kinds of messages the log holds for an application: alone or in a batch, inside a transaction or not."""

from __future__ import annotations

NO_TRANSACTION, COMMITTED, CANNOT_TELL, ABORTED, OPEN = range(5)
TRANSACTIONS = (None, "committed", "cannot_tell", "aborted", "open")
"""Names of the transaction states, by number: of several, the highest hides most."""
UNDECIDED: frozenset[str] = frozenset({"open", "cannot_tell"})
"""States of transactions whose messages may still be delivered."""
NOT_COMMITTED: frozenset[str] = UNDECIDED | {"aborted"}
"""States of transactions whose messages nobody may send again."""

SINGLE_STATES = ("single", "batch")
"""States of messages that are not chunked."""
