"""Trie-constrained decoding of seq2seq models.

Every result is a name in the trie, with the model's log-probability of it, normalised over the whole vocabulary.
"""
