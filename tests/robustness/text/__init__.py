"""Texts that are hard on offsets, or on time."""
