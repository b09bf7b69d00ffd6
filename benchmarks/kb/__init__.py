"""Made-up releases and knowledge bases for benchmarks."""
