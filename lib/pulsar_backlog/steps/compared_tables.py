"""Tables that one audit is compared with the one before by."""

from __future__ import annotations

COMPARED = ("findings", "stalls", "chunked_messages", "quality_results")
"""Tables of what is wrong."""
SOURCES = (*COMPARED, "gone_ledgers", "ledgers", "subscriptions")
"""These, and what tells whether the data that a problem was about are still there."""
