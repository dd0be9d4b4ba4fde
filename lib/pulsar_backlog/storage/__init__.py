"""Spark session, Delta tables and run records. The only room that knows Delta."""
