"""Open pipelines by folder, pack file or name.

`starter` comes with Onym itself: the diseases of MONDO, found and linked with nothing else installed. Others are installed into
the cache directory, each in a self-contained folder, or come in Python packages that carry one. A file `NAME.onymp` is a pack,
which is unpacked into the cache directory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from pathlib import Path
from weakref import finalize

from onym.errors import InputError
from onym.parts import OpenContext
from onym.pipeline.config import FILE, PipelineConfig
from onym.pipeline.folder import open_pipeline, read_folder
from onym.pipeline.pipeline import Pipeline
from onym.store.cache import cache_folder
from onym.store.models import read_small
from onym.store.versions import HeldFolder, current_folder, hold_current, hold_version, is_version

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
RECIPES = _OWN / "recipes"
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
    with ExitStack() as stack:
        path = stack.enter_context(open_folder(folder))
        pipeline = open_pipeline(_read(path, str(folder)), path, context)
        finalize(pipeline.kb, stack.pop_all().close)  # all copies of the pipeline share it
        return pipeline


def read_pipeline(folder: Path | str) -> PipelineConfig:
    """Return what a pipeline's folder says, without opening anything that it refers to."""
    with open_folder(folder) as path:
        return _read(path, str(folder))


def _read(path: Path, name: str) -> PipelineConfig:
    if not (path / FILE).is_file() and (name in recipe_names() or (NAME.fullmatch(name) and not path.exists())):
        raise _no_such_name(name)
    return read_folder(path, name)


def _no_such_name(name: str) -> InputError:
    """Build the error for a name that no pipeline has; we never download implicitly."""
    if name in recipe_names():
        what, fix = f"the pipeline {name} is not installed", f"install it: onym get {name}"
        return InputError("pipeline-not-installed", what, fix=fix)
    like = suggest_name(name, pipeline_names())
    fix = f"{like}onym get --list shows all pipelines; onym pipeline build makes one"
    return InputError("pipeline-missing", f"no pipeline is named {name}, and no folder", where=name, fix=fix)


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Return a question with the known name that is most like another, or nothing if none is.

    >>> suggest_name("strater", ["starter", "hpo-phenotypes"])
    'did you mean starter? '
    """
    return "".join(f"did you mean {like}? " for like in get_close_matches(name, known, n=1))


def pipeline_names() -> list[str]:
    """Return the names of all pipelines: the starter, those of the catalogue, installed ones, and those of Python packages.

    >>> pipeline_names()[0]
    'starter'
    """
    from importlib.metadata import entry_points

    carried = sorted(name for name in entry_points(group=GROUP).names if NAME.fullmatch(name))
    return list(dict.fromkeys((STARTER, *recipe_names(), *installed_names(), *carried)))


def locate(folder: Path | str) -> Path:
    """Return the folder of a pipeline: the one at that path, else the installed one of that name. A pack is unpacked first.

    >>> locate("starter").joinpath("pipeline.json").is_file(), locate("my/pipeline").as_posix()
    (True, 'my/pipeline')
    """
    with open_folder(folder) as path:
        return path


@contextmanager
def open_folder(folder: Path | str) -> Iterator[Path]:
    """Yield the folder of a pipeline, as `locate` does. An installed one that is replaced meanwhile is kept for the block.

    A pack that was unpacked for it is removed if the block rejects it.
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
    if found := _hold_installed(path.parent if is_version(path) else path):  # instead of a version that was replaced
        return found
    if not NAME.fullmatch(name):
        return HeldFolder(path)
    if name == STARTER:
        return HeldFolder(pack_folder(STARTER))
    root = installed_root(name)
    return _hold_installed(root) or HeldFolder(root if (root / FILE).is_file() else _find_carried(name) or path)


def _hold_installed(root: Path) -> HeldFolder | None:
    """Hold the current version of an installed pipeline; None if the folder has no versions, or not of a pipeline."""
    found = hold_current(root)
    if found is not None and not (found.path / FILE).is_file():
        found.release()
        return None
    return found


def _find_carried(name: str) -> Path | None:
    """Return the folder of the pack of that name that an installed package carries; the package's code is not run."""
    from importlib.metadata import entry_points  # a tenth of a second, which the others do not need

    for point in entry_points(group=GROUP, name=name):
        if point.dist is not None and _MODULE.fullmatch(point.value):
            folder = Path(str(point.dist.locate_file(f"{point.value}/{DATA}")))
            if (folder / FILE).is_file():
                _require_own(folder)
                return folder
    return None


def _require_own(folder: Path) -> None:
    """Reject the pack of a package whose schema is another, or whose pipeline refers to anything but folders of the pack."""
    from onym.packs.archive import FILE as RECORD
    from onym.packs.archive import PackRecord, require_own_paths

    record = PackRecord.from_bytes(read_small(folder / RECORD), str(folder))
    require_own_paths(read_folder(folder), record.files, str(folder))


def pack_folder(name: str) -> Path:
    """Return the folder of what comes with Onym under that name: the starter, or trained parts of other pipelines.

    >>> (pack_folder("starter") / "reranker").is_dir()
    True
    """
    return _OWN / name


def find_install_folder(name: str) -> Path:
    """Return the folder in the cache directory that a pipeline of that name is installed in, or will have its versions in.

    >>> find_install_folder("hpo-phenotypes").parts[-2:]
    ('pipelines', 'hpo-phenotypes')
    """
    return current_folder(installed_root(name))


def installed_root(name: str) -> Path:
    """Return the folder in the cache directory for the versions of an installed pipeline."""
    return cache_folder() / _INSTALLED / name


def installed_names() -> list[str]:
    """Return the names of all pipelines that are installed in the cache directory, in order.

    >>> "hpo-phenotypes" in installed_names()
    False
    """
    roots = (cache_folder() / _INSTALLED).glob("*")
    return sorted(root.name for root in roots if NAME.fullmatch(root.name) and (current_folder(root) / FILE).is_file())


def recipe_names() -> list[str]:
    """Return the names of all recipes, in order.

    >>> "hpo-phenotypes" in recipe_names()
    True
    """
    return sorted(path.stem for path in RECIPES.glob("*.toml"))


def locate_kb(folder: Path | str) -> Path:
    """Return the folder of a knowledge base: the one at that path, else that of a pipeline, given as `load` takes it.

    >>> locate_kb("starter").name, locate_kb(getfixture("tiny_kb")) == getfixture("tiny_kb"), locate_kb("my/kb").as_posix()
    ('knowledge-base', True, 'my/kb')
    """
    own = Path(folder)
    if (own / "CURRENT").is_file():
        return own
    with open_folder(folder) as path:
        if not (path / FILE).is_file() and str(folder) not in recipe_names():
            return own
        return path / _read(path, str(folder)).kb.path
