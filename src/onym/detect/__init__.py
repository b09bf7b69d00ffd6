"""Detectors: documents in, the mentions in them out. Each reads from top to bottom in one file.

May import: encoders, trie, corpora, kb, text, store, types, errors. Detectors do not import each other.
Always true here: offsets are code points of the raw text, and a mention's surface is the text at its offsets.
"""

from onym.detect.base import Detected, Detector

__all__ = ["Detected", "Detector"]
