"""A column of terms to concepts, for people who curate: the table that is read, and the formats of mappings."""

from onym.predictions.mapping.terms import TermMapping, TermTable, read_terms

__all__ = ["TermMapping", "TermTable", "read_terms"]
