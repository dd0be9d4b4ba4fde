"""Ledgers in the files of bookies: entry logs and journals, surveyed, cut into units and walked."""
