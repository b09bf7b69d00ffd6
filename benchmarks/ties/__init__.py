"""Ties: how often linkers have them, which rule decides them, and what that is worth."""
