"""Trie-constrained decoding of seq2seq models.

Every result is a name in the trie. Its log-probability is normalised over the whole vocabulary, not only over the trie.
"""
