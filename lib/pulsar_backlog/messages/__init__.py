"""Logical messages out of stored bytes: read ranges, decrypt, join, decompress, verify, hash. No Spark.

Start at `rebuild.rebuild_message` (chunked) and `opening.open_payload` (single entries and batches).
"""
