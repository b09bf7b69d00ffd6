"""Measurements of the code base itself."""
