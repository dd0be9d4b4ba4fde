"""Data-quality rules as data, run by Great Expectations over small summary frames."""
