"""What the benchmarks of the decoder share."""
