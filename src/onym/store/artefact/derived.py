"""Artefacts kept beside another: built on first use, opened ever after.

    FOLDER/<room>/<16 hex digits>/      an artefact, named by a digest of what it is made of

Where the folder cannot be written, the artefact is kept in the cache folder. One that is torn or out of date is built again.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from onym.errors import ConfigError, IntegrityError
from onym.store.artefact.reader import Stage, staging
from onym.store.artefact.verified import cache_folder

T = TypeVar("T")
WAIT = 0.2  # seconds between two looks at what another process is building


def places_of(folder: Path, room: str, made_of: Sequence[str]) -> tuple[Path, Path]:
    """Return where an artefact may be: beside others in `folder`, or in the cache folder.

    >>> beside, cached = places_of(Path("kb"), "tries", ["ab12", "letters"])
    >>> beside.parent.as_posix(), beside.name == cached.name, len(beside.name)
    ('kb/tries', True, 16)
    """
    key = hashlib.sha256(json.dumps(list(made_of)).encode()).hexdigest()[:16]
    return folder / room / key, cache_folder() / room / key


def all_beside(folder: Path, room: str, is_own: Callable[[Path], bool]) -> list[Path]:
    """Return the artefacts of a room beside others in `folder`, and those in the cache folder that belong to it."""
    beside, cached = (sorted(place.glob(f"{room}/*/CURRENT")) for place in (folder, cache_folder()))
    return [pointer.parent for pointer in beside] + [pointer.parent for pointer in cached if _holds(is_own, pointer.parent)]


def told(folder: Path, what: str, tell: Callable[[Path], T], kept_at: Callable[[Path], list[Path]]) -> list[T]:
    """Tell of the artefact at `folder`, or of each that is kept beside the one of another kind that is there.

    `tell` opens an artefact of a room, which people call `what`; `kept_at` finds those that are kept beside another.
    """
    try:
        return [tell(folder)]
    except IntegrityError as e:
        if e.code != "artefact-kind":
            raise
    found = [tell(place) for place in kept_at(folder)]
    if not found:
        problem, fix = f"no {what} is kept beside the knowledge base", f"build one with onym {what} build"
        raise IntegrityError("artefact-missing", problem, where=str(folder), fix=fix)
    return found


def kept(
    places: tuple[Path, Path],
    require: Callable[[Path], object],
    build: Callable[[Stage, Path], object],
    *,
    waiting: Callable[[], None] = lambda: None,
) -> Path:
    """Return the place of an artefact, having built it if need be.

    `require` opens the artefact at a place, or raises an `IntegrityError`; `build` publishes one from a stage. Of several
    processes that need it at once, one builds it and the others wait; `waiting` is called at every look.
    """
    while True:
        if found := _sound(places, require):
            return found
        with ExitStack() as stack:
            try:
                stage, dest = _held(stack, places)
            except IntegrityError as e:
                if e.code != "artefact-locked":
                    raise
                waiting()
                time.sleep(WAIT)
                continue
            if not _sound((dest,), require):  # else another process was quicker
                build(stage, dest)
            return dest


def _sound(places: tuple[Path, ...], require: Callable[[Path], object]) -> Path | None:
    for place in places:
        try:
            require(place)
        except IntegrityError:  # missing, torn, of another format: it can always be built again
            continue
        return place
    return None


def _held(stack: ExitStack, places: tuple[Path, Path]) -> tuple[Stage, Path]:
    """Hold the first place that can be written."""
    beside, cached = places
    try:
        return stack.enter_context(staging(beside)), beside
    except ConfigError:
        return stack.enter_context(staging(cached)), cached


def _holds(is_own: Callable[[Path], bool], place: Path) -> bool:
    try:
        return is_own(place)
    except IntegrityError:
        return False
