"""Benchmarks: published corpora made ready for linking, with their splits, what was dropped and why, and what leaks.

May import: the rest of corpora, kb, text, store, types, errors. Always true here: no text of a corpus is brought along, every
mention that is left out is counted by its reason, and the same files give the same prepared benchmark, byte for byte.
"""

from onym.datasets.base import Benchmark
from onym.datasets.catalogue import catalogue, get
from onym.datasets.prepared import Prepared, prepare

__all__ = ["Benchmark", "Prepared", "catalogue", "get", "prepare"]
