"""Corpora: documents with mentions, read from and written to every format that users have, one file per format.

May import: kb, text, store, types, errors. Always true here: offsets count code points of the raw text, a mention whose
surface is not the text at its offsets is reported and never repaired, and a malformed document stops nothing.
"""
