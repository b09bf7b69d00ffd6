"""Pipelines by name. `starter` comes with Onym itself: the diseases of MONDO, found and linked with nothing else installed.

Others are installed into the cache directory, each in a folder of its own that has all that it needs, or are packages of Python
that carry such a folder. A file `NAME.onymp` is a pack, which is unpacked into the cache directory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import onym
from onym.store.cache import cache_folder

FILE = "pipeline.json"
STARTER = "starter"
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
GROUP = "onym.packs"
"""The group of entry points by which a package of Python names the pack that it carries."""
DATA = "pack"
"""The folder of such a package that holds the pack."""
_PACKS, _INSTALLED = "packs", "pipelines"
PACK_ENDING = ".onymp"
KB = "knowledge-base"
"""The folder of the knowledge base in a pipeline that has all that it needs."""
_MODULE = re.compile(r"[a-z0-9_]+")


def located(folder: Path | str) -> Path:
    """Return the folder of a pipeline: the one at that path, else the installed one of that name. A pack is unpacked first.

    >>> located("starter").joinpath("pipeline.json").is_file(), located("my/pipeline").as_posix()
    (True, 'my/pipeline')
    """
    with ready(folder) as path:
        return path


@contextmanager
def ready(folder: Path | str) -> Iterator[Path]:
    """Give the folder of a pipeline, as `located` does. What was unpacked for it is removed if the block refuses it."""
    path = Path(folder)
    if is_pack(path):
        from onym.packs.archive import unpacked

        with unpacked(path) as found:
            yield found
    else:
        yield _found(path, str(folder))


def is_pack(path: Path) -> bool:
    """Tell whether a path is to be taken for a pack: a file with the ending of one.

    >>> is_pack(Path("no.onymp"))
    False
    """
    return path.suffix == PACK_ENDING and path.is_file()


def _found(path: Path, name: str) -> Path:
    if (path / FILE).exists() or not NAME.fullmatch(name):
        return path
    if name == STARTER:
        return pack_folder(STARTER)
    return installed(name) if (installed(name) / FILE).is_file() else _carried(name) or path


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


def _carried(name: str) -> Path | None:
    """Return the folder of the pack of that name that an installed package carries; the package's code is not run."""
    from importlib.metadata import entry_points  # a tenth of a second, which the others do not need

    for point in entry_points(group=GROUP, name=name):
        if point.dist is not None and _MODULE.fullmatch(point.value):
            folder = Path(str(point.dist.locate_file(f"{point.value}/{DATA}")))
            if (folder / FILE).is_file():
                _require_schema(folder)
                return folder
    return None


def _require_schema(folder: Path) -> None:
    from onym.packs.archive import FILE as RECORD
    from onym.packs.archive import PackRecord
    from onym.store.models import read_small

    PackRecord.from_bytes(read_small(folder / RECORD), str(folder))
