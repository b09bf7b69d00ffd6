"""Folders of models made to do harm."""
