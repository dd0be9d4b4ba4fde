"""Spark: the few doors into Python, and DataFrame -> DataFrame transforms."""
