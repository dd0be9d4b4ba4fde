"""Bytes of one structure -> records: entry, metadata, batch, codecs, markers; and the kernel for whole buffers."""
