"""Benchmarks that print the figures of the documentation: `python -m benchmarks NAME [options]`."""
