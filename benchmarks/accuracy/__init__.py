"""Benchmarks of accuracy."""
