"""Ledgers of topics that a live broker serves, read entry by entry without a trace."""
