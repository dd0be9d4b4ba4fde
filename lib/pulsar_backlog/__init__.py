"""Read Apache Pulsar backlogs straight from storage and say exactly what is in them."""

__version__ = "0.1.0"
