"""Kept results: rows, their predictions, how they are made, judged and shown."""
