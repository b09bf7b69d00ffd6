"""Stored results: predictions of each row, and the code that makes, scores and shows them."""
