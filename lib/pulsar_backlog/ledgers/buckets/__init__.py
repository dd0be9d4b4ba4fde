"""Buckets of object stores: how they are listed, read and asked again."""
