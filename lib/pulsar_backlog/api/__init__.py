"""The public names for Python and Spark users, see docs/python.md; everything else of the package is private."""
