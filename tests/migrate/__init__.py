"""Tests of `onym.migrate`."""
