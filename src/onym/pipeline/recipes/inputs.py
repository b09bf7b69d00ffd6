"""The files of a recipe on this machine: fetched once, or those that a person has; each with its digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from onym.errors import ConfigError, InputError
from onym.pipeline.recipes.config import PipelineRecipe, Release, RemoteFile
from onym.store.download import Patience
from onym.store.fetched import StoredFile, fetch_file, local_file
from onym.types import Progress, silent


@dataclass(frozen=True, slots=True)
class Origin:
    """Where files come from: a mirror, a folder of files that a person has, and the file of a licensed release."""

    mirror: str = ""
    folder: Path | None = None
    file: Path | None = None

    @property
    def is_local(self) -> bool:
        """Whether a person names files of this machine."""
        return self.folder is not None or self.file is not None


@dataclass(frozen=True, slots=True)
class RecipeInput:
    """One file, or the folder of a licensed release. `name` is what the recipe calls it, `part` the release or model."""

    part: str
    name: str
    stored: StoredFile
    is_pinned: bool = False


@dataclass(frozen=True, slots=True)
class Inputs:
    """All inputs of a recipe, by name: those of the knowledge base, and those of each model."""

    releases: tuple[RecipeInput, ...]
    models: dict[str, tuple[RecipeInput, ...]] = field(default_factory=dict)

    def all(self) -> Iterator[RecipeInput]:
        """Yield all of them."""
        yield from self.releases
        for files in self.models.values():
            yield from files


def require_origin(recipe: PipelineRecipe, origin: Origin) -> None:
    """Refuse, before anything is fetched, a licensed release that is not there, and a file that no release needs."""
    licensed = recipe.licensed
    if licensed is None and origin.file is not None:
        what = "--file names a release that needs a licence, and this recipe has none"
        raise ConfigError("config-invalid", what, where=recipe.name, fix="name files that you have with --from FOLDER")
    if licensed is not None and origin.file is None:
        what = f"{licensed.title} needs a licence of your own, and is not downloaded"
        fix = f"{licensed.how} Then: onym get {recipe.name} --file PATH"
        raise ConfigError("release-licensed", what, where=recipe.name, fix=fix)
    for path in filter(None, (origin.file, origin.folder)):
        if not path.exists():
            raise InputError("input-missing", "there is no such file or folder", where=str(path), fix="check the path")


def gather_inputs(
    recipe: PipelineRecipe, origin: Origin, *, progress: Progress = silent, patience: Patience | None = None
) -> Inputs:
    """Return all files of a recipe; what is not on this machine yet is fetched, and an interrupted download goes on."""
    require_origin(recipe, origin)

    def obtain(part: str, file: RemoteFile, folder: Path | None) -> RecipeInput:
        stored = _obtain(file, folder, origin.mirror, progress, patience)
        return RecipeInput(part, file.name, stored, is_pinned=bool(file.sha256))

    releases = [obtain(release.name, file, origin.folder) for release in recipe.releases for file in release.files]
    if recipe.licensed is not None and origin.file is not None:
        releases.append(_licensed(recipe.licensed, origin.file))
    models = {
        model.folder: tuple(
            obtain(model.folder, file, origin.folder and origin.folder / model.folder) for file in model.remote_files()
        )
        for model in recipe.models
    }
    return Inputs(tuple(releases), models)


def _obtain(file: RemoteFile, folder: Path | None, mirror: str, progress: Progress, patience: Patience | None) -> StoredFile:
    if folder is not None and (folder / file.name).is_file():
        return local_file(folder / file.name, sha256=file.sha256)

    def advance(got: int, _all: int | None) -> None:
        progress(f"downloading {file.name}", got)

    return fetch_file(file.url, mirror=mirror, sha256=file.sha256, patience=patience, advance=advance)


def _licensed(release: Release, path: Path) -> RecipeInput:
    """Return the release that a person brings. A folder is told by the names, sizes and times of its files: it may be large."""
    if path.is_file():
        return RecipeInput(release.name, release.name, local_file(path))
    files = sorted(each for each in path.rglob("*") if each.is_file())
    states = [(each.relative_to(path).as_posix(), each.stat().st_size, each.stat().st_mtime_ns) for each in files]
    digest = hashlib.sha256(json.dumps(states).encode()).hexdigest()
    return RecipeInput(release.name, release.name, StoredFile(path, "", sum(size for _, size, _ in states), digest))
