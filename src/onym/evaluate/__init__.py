"""Scoring: named protocols, metrics, slices, significance and reports; pictures of names.

May import: pipeline, linkers, encoders, corpora, kb, text, store, types, errors. Always true here: a figure carries the name of
its protocol and counts what it left out.
"""
