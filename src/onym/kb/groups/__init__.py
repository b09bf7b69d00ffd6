"""Semantic groups: Disease, Chemical, Species and a dozen more, coarser than the types of any one vocabulary.

`tables.py` says which types and vocabularies belong to which group, `assign.py` brings them to every concept.
"""
