"""What the benchmarks of encoders and indexes share."""
