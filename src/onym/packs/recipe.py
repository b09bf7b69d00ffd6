"""Recipes of pipelines: releases and models with their terms, the knowledge base, trained parts, and the pipeline.

Frozen and strict. `kb` is a recipe of `onym kb build`: its sources are the files of the releases, by name. Parts of the
pipeline refer to models and to trained parts by their folder inside the pipeline.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from onym._version import __version__
from onym.config import Strict, read_toml
from onym.errors import ConfigError, DownloadError, InputError
from onym.kb import Recipe
from onym.packs.locate import KB, NAME, RECIPES, STARTER, pack_folder, recipe_names, suggest_name
from onym.packs.provenance import FileDigest, LicenceTerms, Provenance, licences_page
from onym.pipeline.config import FILE, PipelineDesign, digest_of
from onym.store.cache import file_digest
from onym.store.download import Patience, StoredFile, fetch_file, file_name, local_file
from onym.store.models import folder_digest
from onym.store.output import whole_file
from onym.types import Progress, silent

HUB = "https://huggingface.co"
_FOLDER = r"^[a-z0-9][a-z0-9-]*$"
_WITHOUT_SERVER = ("download-interrupted", "download-refused", "download-redirect")
"""Codes of errors that a file from elsewhere mends."""
_SHA256 = r"^([0-9a-f]{64})?$"


class RemoteFile(Strict):
    """A file at an address. `megabytes` is about its size, for people; without `sha256`, that of the first download is kept."""

    url: str = Field(pattern=r"^https://[^?#\s]+/[^/?#\s]+$")
    megabytes: float = Field(gt=0)
    sha256: str = Field(default="", pattern=_SHA256)

    @property
    def name(self) -> str:
        """The name of the file."""
        return file_name(self.url)


class Release(LicenceTerms):
    """A release of a terminology. One without files needs a licence of one's own: `how` says how to get it."""

    name: str = Field(pattern=_FOLDER)
    files: tuple[RemoteFile, ...] = ()
    how: str = ""

    @property
    def is_licensed(self) -> bool:
        """Whether a person has to bring the files: they are never fetched."""
        return not self.files

    @model_validator(mode="after")
    def _require_a_way(self) -> Self:
        if bool(self.files) == bool(self.how):
            raise ValueError("a release has either files, or says how to get them")
        return self


class ModelFile(Strict):
    """A file of a model on the hub, with the same keys as other files."""

    name: str = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")
    megabytes: float = Field(gt=0)
    sha256: str = Field(default="", pattern=_SHA256)


class HubModel(LicenceTerms):
    """A model of Hugging Face's hub at one revision, and the folder that it has in the pipeline."""

    folder: str = Field(pattern=_FOLDER)
    hub: str = Field(pattern=r"^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$")
    revision: str = Field(pattern=r"^[0-9a-f]{40}$")
    files: tuple[ModelFile, ...] = Field(min_length=1)

    def remote_files(self) -> Iterator[RemoteFile]:
        """Yield its files with their addresses."""
        for file in self.files:
            url = f"{HUB}/{self.hub}/resolve/{self.revision}/{file.name}"
            yield RemoteFile(url=url, megabytes=file.megabytes, sha256=file.sha256)


class Trained(Strict):
    """Trained parts that come with Onym: folders of one of its packs, and with `calibration` the confidence fitted there."""

    pack: str = Field(pattern=_FOLDER)
    parts: tuple[str, ...] = Field(min_length=1)
    calibration: bool = True


class PipelineRecipe(Strict):
    """A whole recipe. `extra` are the packages of Onym that its pipeline needs."""

    name: str = Field(pattern=_FOLDER)
    title: str = Field(min_length=1)
    extra: Literal["", "dense"] = ""
    releases: tuple[Release, ...] = Field(min_length=1)
    kb: Recipe
    models: tuple[HubModel, ...] = ()
    trained: Trained | None = None
    pipeline: PipelineDesign

    @classmethod
    def from_toml(cls, path: Path) -> PipelineRecipe:
        """Read a recipe file."""
        return cls.of(read_toml(path), where=str(path))

    @property
    def release_to_bring(self) -> Release | None:
        """The release that a person has to bring."""
        return next((release for release in self.releases if release.is_licensed), None)

    @property
    def megabytes(self) -> float:
        """About how much is fetched."""
        files = [file.megabytes for release in self.releases for file in release.files]
        return sum(files) + sum(file.megabytes for model in self.models for file in model.files)

    @property
    def provenance(self) -> dict[str, Sequence[Provenance]]:
        """What the pipeline is made of, by sections of the page of licences."""
        return {"Knowledge base": self.releases, "Models": self.models}

    @model_validator(mode="after")
    def _require_whole(self) -> Self:
        """Refuse a recipe that refers to what it does not have."""
        names = {file.name for release in self.releases for file in release.files}
        names |= {release.name for release in self.releases if release.is_licensed}
        if unknown := {source.path for source in self.kb.sources} - names:
            raise ValueError(f"a source of the knowledge base is no file of a release: {min(unknown)}")
        if sum(release.is_licensed for release in self.releases) > 1:
            raise ValueError("more than one release needs a licence")
        folders = {model.folder for model in self.models} | set(self.trained.parts if self.trained else ())
        if KB in folders:
            raise ValueError(f"{KB} is the folder of the knowledge base")
        if unknown := {reference.path for reference in self.pipeline.references()} - folders:
            raise ValueError(f"a part of the pipeline is neither a model nor a trained part: {min(unknown)}")
        return self


@dataclass(frozen=True, slots=True)
class FileSources:
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
class RecipeInputs:
    """All inputs of a recipe, by name: those of the knowledge base, and those of each model."""

    releases: tuple[RecipeInput, ...]
    models: dict[str, tuple[RecipeInput, ...]] = field(default_factory=dict)

    def all(self) -> Iterator[RecipeInput]:
        """Yield all of them."""
        yield from self.releases
        for files in self.models.values():
            yield from files


def require_origin(recipe: PipelineRecipe, origin: FileSources) -> None:
    """Refuse, before anything is fetched, a licensed release that is not there, and a file that no release needs."""
    licensed = recipe.release_to_bring
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
    recipe: PipelineRecipe, origin: FileSources, *, progress: Progress = silent, patience: Patience | None = None
) -> RecipeInputs:
    """Return all files of a recipe; what is not on this machine yet is fetched, and an interrupted download goes on."""
    require_origin(recipe, origin)

    def obtain(part: str, file: RemoteFile, folder: Path | None) -> RecipeInput:
        try:
            stored = _obtain(file, folder, origin.mirror, progress, patience)
        except DownloadError as e:
            e.fix = _remedy(e, recipe, origin, file)
            raise
        return RecipeInput(part, file.name, stored, is_pinned=bool(file.sha256))

    releases = [obtain(release.name, file, origin.folder) for release in recipe.releases for file in release.files]
    if recipe.release_to_bring is not None and origin.file is not None:
        releases.append(_local_release(recipe.release_to_bring, origin.file))
    models = {
        model.folder: tuple(
            obtain(model.folder, file, origin.folder and origin.folder / model.folder) for file in model.remote_files()
        )
        for model in recipe.models
    }
    return RecipeInputs(tuple(releases), models)


def _remedy(error: DownloadError, recipe: PipelineRecipe, origin: FileSources, file: RemoteFile) -> str:
    """Return the commands that do without a server that fails."""
    if error.code not in _WITHOUT_SERVER:
        return error.fix
    command = f"onym get {recipe.name}" + (f" --file {origin.file}" if origin.file else "")
    again = "check the network, and run the same command again: it resumes" if error.code == "download-interrupted" else ""
    instead = f"copy {file.name} to a folder and use {command} --from FOLDER, or {command} --mirror ADDRESS"
    return "; or ".join(filter(None, (again, instead)))


def _obtain(file: RemoteFile, folder: Path | None, mirror: str, progress: Progress, patience: Patience | None) -> StoredFile:
    if folder is not None and (folder / file.name).is_file():
        return local_file(folder / file.name, sha256=file.sha256)

    def advance(got: int, _all: int | None) -> None:
        progress(f"downloading {file.name}", got)

    return fetch_file(file.url, mirror=mirror, sha256=file.sha256, patience=patience, advance=advance)


def _local_release(release: Release, path: Path) -> RecipeInput:
    """Return the release that a person brings. A folder is told by the names, sizes and times of its files: it may be large."""
    if path.is_file():
        return RecipeInput(release.name, release.name, local_file(path))
    files = sorted(each for each in path.rglob("*") if each.is_file())
    states = [(each.relative_to(path).as_posix(), each.stat().st_size, each.stat().st_mtime_ns) for each in files]
    digest = hashlib.sha256(json.dumps(states).encode()).hexdigest()
    return RecipeInput(release.name, release.name, StoredFile(path, "", sum(size for _, size, _ in states), digest))


RECORD, ATTRIBUTION = "recipe.json", "ATTRIBUTION.md"


class FileRecord(FileDigest):
    """A file that an installed pipeline was made of. `is_pinned` says that the recipe itself has its digest."""

    part: str
    name: str
    url: str
    is_pinned: bool


class InstallRecord(Strict):
    """The content of `recipe.json`: `recipe_digest` covers all that Onym brings, `kb_digest` all inputs of the KB."""

    onym: str
    recipe_digest: str
    kb_digest: str
    inputs_digest: str
    files: tuple[FileRecord, ...]
    recipe: dict[str, Any]

    @property
    def key(self) -> str:
        """The digest of all of it."""
        return _digest([self.recipe_digest, self.kb_digest, self.inputs_digest])

    @classmethod
    def of_inputs(cls, recipe: PipelineRecipe, inputs: RecipeInputs) -> Self:
        """Make the record of a recipe and its files."""
        files = tuple(
            FileRecord(
                part=each.part,
                name=each.name,
                url=each.stored.url,
                bytes=each.stored.bytes,
                sha256=each.stored.sha256,
                is_pinned=each.is_pinned,
            )
            for each in inputs.all()
        )
        values = recipe.model_dump(mode="json")
        return cls(
            onym=__version__,
            recipe_digest=identity_of(recipe),
            kb_digest=_digest([values["kb"], [[each.name, each.stored.sha256] for each in inputs.releases]]),
            inputs_digest=_digest([[each.part, each.name, each.sha256] for each in files]),
            files=files,
            recipe=values,
        )


def identity_of(recipe: PipelineRecipe) -> str:
    """Return a digest of what a recipe says, and of the trained parts that come with Onym."""
    trained = recipe.trained
    if trained is None:
        return digest_of(recipe)
    pack = pack_folder(trained.pack)
    parts = [folder_digest(pack / part) for part in trained.parts]
    return _digest([digest_of(recipe), *parts, file_digest(pack / FILE) if trained.calibration else ""])


def read_record(folder: Path) -> InstallRecord | None:
    """Return the record of an installed pipeline; None if it is missing or cannot be read.

    >>> read_record(getfixture("tmp_path")) is None
    True
    """
    try:
        return InstallRecord.model_validate_json((folder / RECORD).read_bytes())
    except (OSError, ValidationError):
        return None


def write_record(recipe: PipelineRecipe, record: InstallRecord, folder: Path) -> None:
    """Write the page of licences, then the record: it says that the pipeline is complete."""
    about = f"Made by Onym {record.onym} from the recipe `{recipe.name}`."
    with whole_file(folder / ATTRIBUTION, force=True) as file:
        file.write(licences_page(recipe.name, about, recipe.provenance).encode())
    with whole_file(folder / RECORD, force=True) as file:
        file.write(record.model_dump_json(indent=1).encode() + b"\n")


def _digest(values: Any) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]


def read_recipe(name: str) -> PipelineRecipe:
    """Return the recipe of that name.

    >>> read_recipe("hpo-phenotypes").releases[0].name
    'hpo'
    """
    if not NAME.fullmatch(name) or name not in recipe_names():
        fix = f"{suggest_name(name, recipe_names())}known are {', '.join(recipe_names())}"
        fix = "it comes with Onym: use --pipeline starter" if name == STARTER else fix
        raise ConfigError("recipe-unknown", f"no recipe is named {name!r}", fix=fix)
    return PipelineRecipe.from_toml(RECIPES / f"{name}.toml")
