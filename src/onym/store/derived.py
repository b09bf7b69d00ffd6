"""Derived artefacts: built from a knowledge base on first use, and stored in the knowledge base's folder.

    FOLDER/<kind>/<16 hex digits>/      an artefact, named by a digest of its inputs

If the folder is not writable, the artefact is stored in the cache directory. A damaged or outdated artefact is rebuilt.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple, TypeVar

from onym.errors import ConfigError, IntegrityError
from onym.store.cache import cache_folder
from onym.store.stage import Stage, staging

T = TypeVar("T")
_log = logging.getLogger("onym.store")
WAIT = 0.2  # seconds between checks of whether another process has finished building
_collection: ContextVar[list[Path] | None] = ContextVar("collection", default=None)


class Locations(NamedTuple):
    """Possible locations of a derived artefact: in the knowledge base folder or in the cache directory."""

    own: Path
    cached: Path

    @classmethod
    def of(cls, folder: Path, kind: str, made_of: Sequence[str]) -> Locations:
        """Return the locations of the artefact built from `made_of`; `folder` is the folder of the knowledge base.

        >>> own, cached = Locations.of(Path("kb"), "tries", ["ab12", "letters"])
        >>> own.parent.as_posix(), own.name == cached.name, len(own.name)
        ('kb/tries', True, 16)
        """
        key = hashlib.sha256(json.dumps(list(made_of)).encode()).hexdigest()[:16]
        return cls(folder / kind / key, cache_folder() / kind / key)


@contextmanager
def collect_derived() -> Iterator[list[Path]]:
    """Collect the folders of the derived artefacts opened in the block, without those opened only to build another artefact.

    >>> with collect_derived() as found:
    ...     pass
    >>> found
    []
    """
    found: list[Path] = []
    with _collecting(found):
        yield found


def open_derived(
    locations: Locations,
    open_artefact: Callable[[Path], T],
    build: Callable[[Stage, Path], object],
    *,
    waiting: Callable[[], None] = lambda: None,
) -> T:
    """Open a derived artefact, building it first if it is missing or damaged.

    `open_artefact` opens the artefact at a path or raises an `IntegrityError`; `build` publishes an artefact from a stage. If
    several processes need it at once, one builds it; the others check repeatedly whether it is ready, and call `waiting`.
    """
    while True:
        for location in locations:
            if (found := _open_if_sound(location, open_artefact)) is not None:
                return _collect(found, location)
        with ExitStack() as stack:
            try:
                stage, dest = _lock(stack, locations)
            except IntegrityError as e:
                if e.code != "artefact-locked":
                    raise
                waiting()
                time.sleep(WAIT)
                continue
            if (found := _open_if_sound(dest, open_artefact)) is not None:  # another process has built the artefact meanwhile
                return _collect(found, dest)
            _log.info("building %s", dest)
            with _collecting(None):
                build(stage, dest)
            return _collect(open_artefact(dest), dest)


def find_derived(folder: Path, kind: str, is_own: Callable[[Path], bool]) -> list[Path]:
    """Return the artefacts of a kind in `folder`, and the artefacts in the cache directory for which `is_own` is True."""
    kept, cached = (sorted(path.glob(f"{kind}/*/CURRENT")) for path in (folder, cache_folder()))
    return [pointer.parent for pointer in kept] + [pointer.parent for pointer in cached if _is_sound(is_own, pointer.parent)]


def describe_derived(folder: Path, what: str, describe: Callable[[Path], T], find: Callable[[Path], list[Path]]) -> list[T]:
    """Describe the artefact at `folder`. If `folder` is a knowledge base, describe all artefacts that `find` returns for it.

    `describe` opens an artefact of one kind; `what` is the name of that kind in messages.
    """
    try:
        return [describe(folder)]
    except IntegrityError as e:
        if e.code != "artefact-kind":
            raise
    found = [describe(path) for path in find(folder)]
    if not found:
        problem, fix = f"the knowledge base has no {what}", f"build one with onym {what} build"
        raise IntegrityError("artefact-missing", problem, where=str(folder), fix=fix)
    return found


@contextmanager
def _collecting(found: list[Path] | None) -> Iterator[None]:
    token = _collection.set(found)
    try:
        yield
    finally:
        _collection.reset(token)


def _collect(artefact: T, location: Path) -> T:
    """Return the artefact; inside a `collect_derived` block, also add its location to the block's list."""
    found = _collection.get()
    if found is not None and location not in found:
        found.append(location)
    return artefact


def _open_if_sound(location: Path, open_artefact: Callable[[Path], T]) -> T | None:
    try:
        return open_artefact(location)
    except IntegrityError:  # the artefact is missing, damaged or in another format: the caller rebuilds it
        return None


def _lock(stack: ExitStack, locations: Locations) -> tuple[Stage, Path]:
    """Lock the first writable location; return its stage and path."""
    try:
        return stack.enter_context(staging(locations.own)), locations.own
    except ConfigError:
        return stack.enter_context(staging(locations.cached)), locations.cached


def _is_sound(is_own: Callable[[Path], bool], path: Path) -> bool:
    try:
        return is_own(path)
    except IntegrityError:
        return False
