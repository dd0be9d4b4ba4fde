"""Two logs that should hold the same messages: digests, matching, order, and what becomes of a difference. No Spark."""
