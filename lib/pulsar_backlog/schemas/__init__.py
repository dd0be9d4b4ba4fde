"""Payloads by their schemas: what a schema makes of bytes, as Arrow columns. No Spark, no files."""
