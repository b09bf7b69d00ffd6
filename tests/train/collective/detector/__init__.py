"""Detectors of several corpora, trained."""
