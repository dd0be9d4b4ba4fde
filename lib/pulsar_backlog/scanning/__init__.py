"""From a scan unit to rows: what one task makes of its bytes, and the books of what was scanned. No Spark."""
