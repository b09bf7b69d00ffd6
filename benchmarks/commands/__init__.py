"""The benchmarks themselves, one module each: `python -m benchmarks NAME`."""
