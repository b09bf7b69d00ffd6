"""Pipelines by name. `starter` comes with Onym itself: the diseases of MONDO, found and linked with nothing else installed.

Others are installed into the cache directory, each in a folder of its own that has all that it needs.
"""

from __future__ import annotations

import re
from pathlib import Path

import onym
from onym.store.cache import cache_folder

FILE = "pipeline.json"
STARTER = "starter"
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_PACKS, _INSTALLED = "packs", "pipelines"


def located(folder: Path | str) -> Path:
    """Return the folder of a pipeline: the one at that path, else the installed one of that name.

    >>> located("starter").joinpath("pipeline.json").is_file(), located("my/pipeline").as_posix()
    (True, 'my/pipeline')
    """
    path, name = Path(folder), str(folder)
    if (path / FILE).exists() or not NAME.fullmatch(name):
        return path
    if name == STARTER:
        return pack_folder(STARTER)
    return installed(name) if (installed(name) / FILE).is_file() else path


def pack_folder(name: str) -> Path:
    """Return the folder of what comes with Onym under that name: the starter, or trained parts of other pipelines.

    >>> (pack_folder("starter") / "reranker").is_dir()
    True
    """
    return Path(onym.__path__[0]) / _PACKS / name


def installed(name: str) -> Path:
    """Return the folder in the cache directory that a pipeline of that name is installed in.

    >>> installed("hpo-phenotypes").parts[-2:]
    ('pipelines', 'hpo-phenotypes')
    """
    return cache_folder() / _INSTALLED / name
