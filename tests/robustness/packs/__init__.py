"""Packs made to do harm."""
