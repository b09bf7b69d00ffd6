"""Suites of texts that break offsets or take too long."""
