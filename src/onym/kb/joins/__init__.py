"""Which concepts of two vocabularies are one: each rule proposes pairs, one file per rule, and `union.py` joins them.

A pair is (low, high): `high` is of the vocabulary that comes first in the recipe, and keeps its id. The most certain rule comes
first, and two concepts of one vocabulary are never brought together.
"""
