"""What the benchmarks of corpora share."""
