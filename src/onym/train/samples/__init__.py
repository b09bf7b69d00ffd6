"""Samples: what a model is trained on, as tokens.

Always true here: a sample follows from the seed and its place alone, so that a training can go on anywhere.
"""
