"""Chunk rows in, publications with their roles out, and what shows beside each other of them."""
