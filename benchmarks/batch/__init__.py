"""What the benchmarks of corpus-scale linking share."""
