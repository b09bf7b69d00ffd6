"""A benchmark by its name or its folder: one that was never prepared on this machine is prepared, and kept."""

from __future__ import annotations

from pathlib import Path

from onym.datasets.catalogue import get
from onym.datasets.prepared import Prepared, prepare
from onym.errors import ConfigError
from onym.store.cache import cache_folder


def open_benchmark(name_or_folder: str, data: Path | None = None) -> Prepared:
    """Open a prepared benchmark. A name is looked for in the cache, and prepared there from the files in `data` at first.

    >>> open_benchmark("no-such-benchmark")
    Traceback (most recent call last):
    onym.errors.ConfigError: [benchmark-unknown] no benchmark is named 'no-such-benchmark'...
    """
    if (Path(name_or_folder) / "CURRENT").is_file():
        return Prepared.open(name_or_folder)
    benchmark = get(name_or_folder)
    kept = cache_folder() / "benchmarks" / benchmark.name
    if (kept / "CURRENT").is_file():
        return Prepared.open(kept)
    if data is None:
        fix = "name it with --data, or set ONYM_DATA"
        raise ConfigError("config-invalid", "no folder with the files of the corpus was named", fix=fix)
    return prepare(benchmark.name, data, kept)
