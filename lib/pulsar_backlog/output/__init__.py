"""Files that results are written into, wherever they lie. No Spark."""
