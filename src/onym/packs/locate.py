"""Open pipelines by folder, pack file or name.

`starter` is built in and needs no installation. Other pipelines are installed into the cache directory, each
in a self-contained folder, or come with Python packages. A file `NAME.onymp` is a pack, which is unpacked into the cache.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from functools import lru_cache, partial
from pathlib import Path
from weakref import finalize

from onym.errors import InputError
from onym.parts import OpenContext, require_digest
from onym.pipeline.config import FILE, PipelineConfig, digest_of
from onym.pipeline.folder import open_pipeline, read_folder
from onym.pipeline.pipeline import Pipeline
from onym.store.artefact import POINTER
from onym.store.cache import cache_folder
from onym.store.models import read_small
from onym.store.versions import HeldFolder, current_folder, hold_current, hold_version, is_version

STARTER = "starter"
STARTER_TITLE = "diseases, chemicals and phenotypes of MeSH, MONDO and HPO"
"""What the starter finds and links."""
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
GROUP = "onym.packs"
"""Entry-point group in which a Python package declares the pack that it contains."""
DATA = "pack"
"""Name of the folder in that package that contains the pack."""
PACK_ENDING = ".onymp"
KB = "knowledge-base"
"""The folder of the knowledge base in a self-contained pipeline."""
_OWN = Path(__file__).parent
_INSTALLED = "pipelines"
RECIPES = _OWN / "recipes"
_MODULE = re.compile(r"[a-z0-9_]+")


def load(folder: Path | str, *, context: OpenContext | None = None, prefer: Sequence[str] = ()) -> Pipeline:
    """Open a pipeline, given as a folder, a pack (`NAME.onymp`) or the name of an installed pipeline.

    With `prefer`, these vocabularies come first, instead of those that the pipeline prefers itself.

    `starter` is built in; install others with `onym get` or `onym pack install`. Raises an error if a file that the pipeline
    refers to has changed since it was built. Nothing is downloaded.

    >>> from onym.pipeline import build_pipeline
    >>> folder = getfixture("tmp_path") / "pipeline"
    >>> _ = build_pipeline(getfixture("tiny_kb"), folder)
    >>> load(folder).link("No fever.").links[0].mention.start
    3
    """
    with ExitStack() as stack:
        path = stack.enter_context(open_folder(folder))
        config = _read(path, str(folder))
        config = config.model_copy(update={"prefer": tuple(prefer)}) if prefer else config
        pipeline = open_pipeline(config, path, context)
        name = str(folder) if not Path(folder).exists() else str(Path(folder).absolute())
        pipeline.reopen = partial(load_again, name, tuple(prefer), digest_of(config))
        finalize(pipeline.kb, stack.pop_all().close)  # the lock is released with the KB, which copies of the pipeline share
        return pipeline


@lru_cache(4)  # a worker process that receives a pipeline with each of its tasks opens it once
def load_again(folder: str, prefer: tuple[str, ...], digest: str) -> Pipeline:
    """Open a pipeline that was sent from another process; raise IntegrityError if it has changed since."""
    config = read_pipeline(folder)
    found = digest_of(config.model_copy(update={"prefer": prefer}) if prefer else config)
    require_digest(folder, digest, found, Path(folder))
    return load(folder, prefer=prefer)


def read_pipeline(folder: Path | str) -> PipelineConfig:
    """Return the configuration of a pipeline, without opening its knowledge base and models."""
    with open_folder(folder) as path:
        return _read(path, str(folder))


def _read(path: Path, name: str) -> PipelineConfig:
    if not (path / FILE).is_file() and (name in recipe_names() or (NAME.fullmatch(name) and not path.exists())):
        raise _no_such_name(name)
    return read_folder(path, name)


def _no_such_name(name: str) -> InputError:
    """Return the error for a pipeline that is unknown or not installed. Nothing is ever downloaded implicitly."""
    if name in recipe_names():
        what, fix = f"the pipeline {name} is not installed", f"install it: onym get {name}"
        return InputError("pipeline-not-installed", what, fix=fix)
    like = suggest_name(name, pipeline_names())
    fix = f"{like}onym get --list shows all pipelines; onym pipeline build creates one"
    return InputError("pipeline-missing", f"there is no pipeline or folder named {name}", where=name, fix=fix)


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Return a "did you mean" hint with the most similar known name; empty if none is similar.

    >>> suggest_name("strater", ["starter", "hpo-phenotypes"])
    'did you mean starter? '
    """
    return "".join(f"did you mean {like}? " for like in get_close_matches(name, known, n=1))


def pipeline_names() -> list[str]:
    """Return the names of all pipelines: the starter, the catalogue, installed pipelines, and packs in Python packages.

    >>> pipeline_names()[0]
    'starter'
    """
    from importlib.metadata import entry_points

    carried = sorted(name for name in entry_points(group=GROUP).names if NAME.fullmatch(name))
    return list(dict.fromkeys((STARTER, *recipe_names(), *list_installed(), *carried)))


def locate(folder: Path | str) -> Path:
    """Return the folder of a pipeline, given as a path or an installed name. A pack is unpacked first.

    >>> locate("starter").joinpath("pipeline.json").is_file(), locate("my/pipeline").as_posix()
    (True, 'my/pipeline')
    """
    with open_folder(folder) as path:
        return path


@contextmanager
def open_folder(folder: Path | str) -> Iterator[Path]:
    """Yield the folder of a pipeline (see `locate`). It is not removed before the block ends, even if a new one is installed.

    If the block raises an error, the cache folder into which this call unpacked a pack is removed.
    """
    path = Path(folder)
    if is_pack(path):
        from onym.packs.archive import unpack_to_cache

        with unpack_to_cache(path) as found:
            yield found
    else:
        held = _find(path, str(folder))
        try:
            yield held.path
        finally:
            held.release()


def is_pack(path: Path) -> bool:
    """Return True if the path is a pack: a file *.onymp.

    >>> is_pack(Path("no.onymp"))
    False
    """
    return path.suffix == PACK_ENDING and path.is_file()


def _find(path: Path, name: str) -> HeldFolder:
    if (path / FILE).exists() and (held := hold_version(path)):
        return held
    if found := _hold_installed(path.parent if is_version(path) else path):  # `path` is a replaced version: use the current one
        return found
    if not NAME.fullmatch(name):
        return HeldFolder(path)
    if name == STARTER:
        return HeldFolder(pack_folder(STARTER))
    root = installed_root(name)
    return _hold_installed(root) or HeldFolder(root if (root / FILE).is_file() else _find_carried(name) or path)


def _hold_installed(root: Path) -> HeldFolder | None:
    """Lock the current version of an installed pipeline; None if `root` contains no pipeline versions."""
    found = hold_current(root)
    if found is not None and not (found.path / FILE).is_file():
        found.release()
        return None
    return found


def _find_carried(name: str) -> Path | None:
    """Return the folder of the pack of that name in an installed Python package, without importing the package."""
    from importlib.metadata import entry_points  # lazy, because this import takes 0.1 s

    for point in entry_points(group=GROUP, name=name):
        if point.dist is not None and _MODULE.fullmatch(point.value):
            folder = Path(str(point.dist.locate_file(f"{point.value}/{DATA}")))
            if (folder / FILE).is_file():
                _require_own(folder)
                return folder
    return None


def _require_own(folder: Path) -> None:
    """Reject a pack with another schema version, or whose pipeline refers to paths outside of the pack."""
    from onym.packs.archive import FILE as RECORD
    from onym.packs.archive import PackRecord, require_own_paths

    record = PackRecord.from_bytes(read_small(folder / RECORD), str(folder))
    require_own_paths(read_folder(folder), record.files, str(folder))


def pack_folder(name: str) -> Path:
    """Return a data folder shipped with Onym: the starter, or trained components of other pipelines.

    >>> (pack_folder("starter") / "reranker").is_dir()
    True
    """
    return _OWN / name


def find_install_folder(name: str) -> Path:
    """Return the folder of the current version of a pipeline. If it is not installed, return the folder for its versions.

    >>> find_install_folder("hpo-phenotypes").parts[-2:]
    ('pipelines', 'hpo-phenotypes')
    """
    return current_folder(installed_root(name))


def installed_root(name: str) -> Path:
    """Return the folder in the cache directory for the versions of an installed pipeline."""
    return cache_folder() / _INSTALLED / name


def list_installed() -> list[str]:
    """Return the sorted names of all pipelines installed in the cache directory.

    >>> "hpo-phenotypes" in list_installed()
    False
    """
    roots = (cache_folder() / _INSTALLED).glob("*")
    return sorted(root.name for root in roots if NAME.fullmatch(root.name) and (current_folder(root) / FILE).is_file())


def recipe_names() -> list[str]:
    """Return the sorted names of all recipes.

    >>> "hpo-phenotypes" in recipe_names()
    True
    """
    return sorted(path.stem for path in RECIPES.glob("*.toml"))


def locate_kb(folder: Path | str) -> Path:
    """Return the folder of a knowledge base, given as its path or as a pipeline (as for `load`).

    >>> locate_kb("starter").name, locate_kb(getfixture("tiny_kb")) == getfixture("tiny_kb"), locate_kb("my/kb").as_posix()
    ('knowledge-base', True, 'my/kb')
    """
    own = Path(folder)
    if (own / POINTER).is_file():
        return own
    with open_folder(folder) as path:
        if not (path / FILE).is_file() and str(folder) not in recipe_names():
            return own
        return path / _read(path, str(folder)).kb.path
