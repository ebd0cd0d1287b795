"""Filters of rows and duplicates."""
