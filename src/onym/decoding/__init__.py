"""Search: a seq2seq model writes a name, token by token, and may only write names of a prefix tree.

Always true here: what comes out is a name of the tree, with the model's own log-probability of it, normalised over the whole
vocabulary.
"""
