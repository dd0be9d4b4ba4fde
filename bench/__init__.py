"""Measures the program against plain ways of doing the same, on backlogs it makes itself."""
