"""Training samples.

Invariant: a sample is determined by the seed and its index, so that training can resume at any step.
"""
