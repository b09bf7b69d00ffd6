"""Suites of trie-constrained search, compared with slow reference implementations."""
