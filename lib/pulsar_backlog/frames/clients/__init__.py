"""Chunk rows in, what models of real consumers make of them out."""
