"""Canary phrases in documents, and every way by which one might be shown."""
