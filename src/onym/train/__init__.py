"""Training: samples from knowledge bases and corpora, losses, and the recipes that put them together.

May import: evaluate, pipeline, linkers, detect, decoding, index, encoders, trie, corpora, kb, text, store, types, errors.
Always true here: only tokens with a label are learned from, and what a run used is written beside what it made.
"""
