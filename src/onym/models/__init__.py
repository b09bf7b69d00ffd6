"""Encoders: texts in, vectors out. A model is opened carefully, and texts of like lengths are read together.

May import: corpora, kb, text, store, types, errors. Always true here: no code of a model's own is run, and nothing is fetched.
"""
