"""Search: a seq2seq model writes a name, token by token, and may only write names of a prefix tree.

May import: encoders, trie, corpora, kb, text, store, types, errors. Always true here: what comes out is a name of the tree,
with the model's own log-probability of it, normalised over the whole vocabulary.
"""
