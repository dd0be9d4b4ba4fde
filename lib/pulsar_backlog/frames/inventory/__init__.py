"""The inventory of a place too large for one process: listed objects in, rows of `ledgers` and `inventory` out."""
