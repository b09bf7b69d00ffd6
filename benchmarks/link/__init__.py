"""Helpers of the benchmarks of linking raw text."""
