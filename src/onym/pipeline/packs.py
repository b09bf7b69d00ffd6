"""Pipelines by name. `starter` comes with Onym itself: the diseases of MONDO, found and linked with nothing else installed."""

from __future__ import annotations

from pathlib import Path

import onym

FILE = "pipeline.json"
STARTER = "starter"
_PACKS = "packs"


def located(folder: Path | str) -> Path:
    """Return the folder of a pipeline: the one at that path, else the pack of that name.

    >>> located("starter").joinpath("pipeline.json").is_file(), located("my/pipeline").as_posix()
    (True, 'my/pipeline')
    """
    path = Path(folder)
    if str(folder) != STARTER or (path / FILE).exists():
        return path
    return Path(onym.__path__[0]) / _PACKS / STARTER
