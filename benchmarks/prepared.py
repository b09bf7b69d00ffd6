"""Published corpora, prepared for one benchmark and removed after it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.report import data_folder
from onym.datasets import PreparedDataset, prepare


def each_prepared(names: Mapping[str, str]) -> Iterator[tuple[str, PreparedDataset]]:
    """Yield each key with the dataset of that name, prepared afresh from the real data."""
    with tempfile.TemporaryDirectory() as folder:
        for key, name in names.items():
            yield key, prepare(name, data_folder(), Path(folder) / name)
