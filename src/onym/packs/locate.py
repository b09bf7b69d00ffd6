"""Open pipelines by folder, pack file or name.

`starter` comes with Onym itself: the diseases of MONDO, found and linked with nothing else installed. Others are installed into
the cache directory, each in a self-contained folder, or come in Python packages that carry one. A file `NAME.onymp` is a pack,
which is unpacked into the cache directory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onym.errors import InputError
from onym.packs.archive import FILE as RECORD
from onym.packs.archive import PackRecord, unpacked
from onym.packs.folders import DATA, GROUP, NAME, PACK_ENDING, STARTER, installed, pack_folder
from onym.packs.recipe import recipe_names
from onym.parts import OpenContext
from onym.pipeline.config import FILE, PipelineConfig
from onym.pipeline.folder import open_pipeline, read_folder
from onym.pipeline.pipeline import Pipeline
from onym.store.models import read_small

_MODULE = re.compile(r"[a-z0-9_]+")


def load(folder: Path | str, *, context: OpenContext | None = None) -> Pipeline:
    """Open a pipeline's folder, a pack (`NAME.onymp`), or an installed pipeline by its name.

    `starter` comes with Onym; others are installed by `onym get` or `onym pack install`. What a pipeline refers to must be what
    it was at its building. Nothing is fetched.

    >>> from onym.pipeline import build_pipeline
    >>> folder = getfixture("tmp_path") / "pipeline"
    >>> _ = build_pipeline(getfixture("tiny_kb"), folder)
    >>> load(folder).link("No fever.").links[0].mention.start
    3
    """
    with ready(folder) as path:
        return open_pipeline(_read(path, str(folder)), path, context)


def read_pipeline(folder: Path | str) -> PipelineConfig:
    """Return what a pipeline's folder says, without opening anything that it refers to."""
    with ready(folder) as path:
        return _read(path, str(folder))


def _read(path: Path, name: str) -> PipelineConfig:
    if not (path / FILE).is_file() and name in recipe_names():  # we never download implicitly
        what, fix = f"the pipeline {name} is not installed", f"install it: onym get {name}"
        raise InputError("pipeline-not-installed", what, fix=fix)
    return read_folder(path, name)


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
        with unpacked(path) as found:
            yield found
    else:
        yield _found(path, str(folder))


def is_pack(path: Path) -> bool:
    """Return True if the path is a pack: a file *.onymp.

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
    PackRecord.from_bytes(read_small(folder / RECORD), str(folder))
