"""Samples: what a model is trained on, as tokens.

Always true here: a sample follows from the seed and its index alone, so that training can resume anywhere.
"""
