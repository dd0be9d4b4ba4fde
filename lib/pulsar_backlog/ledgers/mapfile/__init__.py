"""Ledgers that the filesystem offloader stored as Hadoop MapFiles: the format, and how it is examined and walked."""
