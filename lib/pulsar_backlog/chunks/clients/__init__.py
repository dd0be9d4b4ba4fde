"""What real clients make of a log: one state machine per client family, driven entry by entry.

Start at `session.Session`, which plays broker, clock and application; the decision tables stand in docs/clients.md.
"""
