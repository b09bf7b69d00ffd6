"""Benchmarks of how right the answers are."""
