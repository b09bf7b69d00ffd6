"""Helpers of the benchmarks that compare versions of Onym."""
