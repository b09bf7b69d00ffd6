"""Datasets: published corpora prepared for entity linking, with splits, counts of dropped mentions, and train/test overlap.

Invariants: Onym ships no corpus text, every dropped mention is counted by reason, and the same input files give the same
prepared dataset, byte for byte.
"""

from onym.datasets.base import Dataset
from onym.datasets.catalogue import catalogue, get
from onym.datasets.prepared import PreparedDataset, open_dataset, prepare

__all__ = ["Dataset", "PreparedDataset", "catalogue", "get", "open_dataset", "prepare"]
