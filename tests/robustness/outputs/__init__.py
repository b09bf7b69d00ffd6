"""Suites of outputs: exports and tables checked with other libraries, and explanations checked by removing names."""
