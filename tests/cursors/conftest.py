"""Timing is no property: other work on the machine must not fail a test."""

from hypothesis import settings

settings.register_profile("cursors", deadline=None)
settings.load_profile("cursors")
