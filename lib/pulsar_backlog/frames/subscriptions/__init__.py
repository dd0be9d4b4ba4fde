"""Entries and chunks against what each subscription has acknowledged."""
