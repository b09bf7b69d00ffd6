"""Canary phrases in documents: none may ever be shown."""
