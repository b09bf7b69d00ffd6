"""A column of terms to concepts, for people who curate: read a table, link its terms, write the candidates beside them."""

from onym.predictions.mapping.terms import TermMapping, TermTable, map_terms, read_terms

__all__ = ["TermMapping", "TermTable", "map_terms", "read_terms"]
