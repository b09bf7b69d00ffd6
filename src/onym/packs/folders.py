"""Names of packs and the folders they are in: what comes with Onym, and what is installed into the cache directory."""

from __future__ import annotations

import re
from pathlib import Path

from onym.store.cache import cache_folder

STARTER = "starter"
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
GROUP = "onym.packs"
"""The entry-point group by which a Python package names the pack that it carries."""
DATA = "pack"
"""The folder of such a package that holds the pack."""
PACK_ENDING = ".onymp"
KB = "knowledge-base"
"""The folder of the knowledge base in a self-contained pipeline."""
_OWN = Path(__file__).parent
_INSTALLED = "pipelines"


def pack_folder(name: str) -> Path:
    """Return the folder of what comes with Onym under that name: the starter, or trained parts of other pipelines.

    >>> (pack_folder("starter") / "reranker").is_dir()
    True
    """
    return _OWN / name


def installed(name: str) -> Path:
    """Return the folder in the cache directory that a pipeline of that name is installed in.

    >>> installed("hpo-phenotypes").parts[-2:]
    ('pipelines', 'hpo-phenotypes')
    """
    return cache_folder() / _INSTALLED / name
