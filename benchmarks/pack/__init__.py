"""What `python -m benchmarks pack` measures: packs of trained pipelines, and packs made to do harm."""
