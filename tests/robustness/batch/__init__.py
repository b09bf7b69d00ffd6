"""Suites of `onym batch`: killed processes and failing environments."""
