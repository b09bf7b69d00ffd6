"""A column of terms to concepts, for people who curate: the table that is read, and the formats of mappings."""

from onym.predictions.mapping.reading import read_terms
from onym.predictions.mapping.terms import TermMapping, TermTable

__all__ = ["TermMapping", "TermTable", "read_terms"]
