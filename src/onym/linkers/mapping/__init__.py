"""A column of terms to concepts, for people who curate: read a table, link its terms, write the candidates beside them."""

from onym.linkers.mapping.run import map_table
from onym.linkers.mapping.terms import TermMapping, TermTable, map_terms, read_terms

__all__ = ["TermMapping", "TermTable", "map_table", "map_terms", "read_terms"]
