"""Training of the tagger (`onym train detect`): see `onym.methods.tagger`.

The torch module and its loss are those of `onym.train.collective`.
"""
