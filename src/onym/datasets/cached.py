"""Open a dataset by its name or its folder; by name, it is prepared once and kept in the cache."""

from __future__ import annotations

from pathlib import Path

from onym.datasets.catalogue import get
from onym.datasets.prepared import PreparedDataset, prepare
from onym.errors import ConfigError
from onym.store.cache import Verify, cache_folder


def open_dataset(name_or_folder: str, data: Path | None = None, *, verify: Verify = "once") -> PreparedDataset:
    """Open a prepared dataset. A name is looked up in the cache, and prepared there from the files in `data` the first time.

    `verify` says when its bytes are hashed.

    >>> open_dataset("no-such-dataset")
    Traceback (most recent call last):
    onym.errors.ConfigError: [dataset-unknown] no dataset is named 'no-such-dataset'...
    """
    if (Path(name_or_folder) / "CURRENT").is_file():
        return PreparedDataset.open(name_or_folder, verify=verify)
    dataset = get(name_or_folder)
    cached = cache_folder() / "datasets" / dataset.name
    if (cached / "CURRENT").is_file():
        return PreparedDataset.open(cached, verify=verify)
    if data is None:
        fix = "give it with --data, or set ONYM_DATA"
        raise ConfigError("config-invalid", "the folder with the files of the corpus is not given", fix=fix)
    return prepare(dataset.name, data, cached)
