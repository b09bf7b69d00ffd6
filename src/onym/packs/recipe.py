"""Recipes of pipelines: releases, models and their licences, the knowledge base, trained components, and the pipeline.

Recipes are frozen and reject unknown keys. `kb` is a recipe of `onym kb build` whose sources are files of the releases.
Pipeline components refer to models and trained components by their folder inside the pipeline.
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
from onym.packs.locate import KB, NAME, RECIPES, STARTER, list_installed, pack_folder, recipe_names, suggest_name
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
"""Error codes for which we suggest a local copy or a mirror."""
_SHA256 = r"^([0-9a-f]{64})?$"


class RemoteFile(Strict):
    """A file to download. `megabytes` is its approximate size; if `sha256` is empty, the first download sets it."""

    url: str = Field(pattern=r"^https://[^?#\s]+/[^/?#\s]+$")
    megabytes: float = Field(gt=0)
    sha256: str = Field(default="", pattern=_SHA256)

    @property
    def name(self) -> str:
        """The name of the file."""
        return file_name(self.url)


class Release(LicenceTerms):
    """A terminology release. A release without files needs a personal licence; `how` explains how users obtain it."""

    name: str = Field(pattern=_FOLDER)
    files: tuple[RemoteFile, ...] = ()
    how: str = ""

    @property
    def is_licensed(self) -> bool:
        """True if users must download the release themselves, because it needs a licence."""
        return not self.files

    @model_validator(mode="after")
    def _require_a_way(self) -> Self:
        if bool(self.files) == bool(self.how):
            raise ValueError("give either `files` or `how` for a release, not both")
        return self


class ModelFile(Strict):
    """A file of a model on the Hugging Face Hub."""

    name: str = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")
    megabytes: float = Field(gt=0)
    sha256: str = Field(default="", pattern=_SHA256)


class HubModel(LicenceTerms):
    """A model on the Hugging Face Hub at a fixed revision, and its folder in the pipeline."""

    folder: str = Field(pattern=_FOLDER)
    hub: str = Field(pattern=r"^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$")
    revision: str = Field(pattern=r"^[0-9a-f]{40}$")
    files: tuple[ModelFile, ...] = Field(min_length=1)

    def remote_files(self) -> Iterator[RemoteFile]:
        """Yield the files of the model with their URLs."""
        for file in self.files:
            url = f"{HUB}/{self.hub}/resolve/{self.revision}/{file.name}"
            yield RemoteFile(url=url, megabytes=file.megabytes, sha256=file.sha256)


class Trained(Strict):
    """Trained components shipped with Onym: folders of a built-in pack. With `calibration`, its calibration is used too."""

    pack: str = Field(pattern=_FOLDER)
    parts: tuple[str, ...] = Field(min_length=1)
    calibration: bool = True


class PipelineRecipe(Strict):
    """A complete recipe. `extra` is the optional dependency group that the pipeline needs.

    If `rank` is above 0, the pipeline is better than the starter; the installed pipeline with the highest rank is the default.
    """

    name: str = Field(pattern=_FOLDER)
    title: str = Field(min_length=1)
    extra: Literal["", "models"] = ""
    rank: int = Field(default=0, ge=0, le=100, exclude=True)  # not part of the identity: it changes no answer
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
        """The release that users must provide, if any."""
        return next((release for release in self.releases if release.is_licensed), None)

    @property
    def megabytes(self) -> float:
        """Approximate download size."""
        files = [file.megabytes for release in self.releases for file in release.files]
        return sum(files) + sum(file.megabytes for model in self.models for file in model.files)

    @property
    def provenance(self) -> dict[str, Sequence[Provenance]]:
        """Releases and models, by the heading of their section on the licence page."""
        return {"Knowledge base": self.releases, "Models": self.models}

    @model_validator(mode="after")
    def _require_whole(self) -> Self:
        """Reject references to files, models or components that the recipe does not define."""
        names = {file.name for release in self.releases for file in release.files}
        names |= {release.name for release in self.releases if release.is_licensed}
        if unknown := {source.path for source in self.kb.sources} - names:
            raise ValueError(f"a source of the knowledge base is not a file of a release: {min(unknown)}")
        if sum(release.is_licensed for release in self.releases) > 1:
            raise ValueError("more than one release needs a licence")
        folders = {model.folder for model in self.models} | set(self.trained.parts if self.trained else ())
        if KB in folders:
            raise ValueError(f"{KB} is reserved for the knowledge base; choose another folder")
        if unknown := {reference.path for reference in self.pipeline.references()} - folders:
            raise ValueError(f"the pipeline refers to a folder that is neither a model nor a trained component: {min(unknown)}")
        return self


@dataclass(frozen=True, slots=True)
class FileSources:
    """Alternative sources of files: a mirror, a folder of local files, and the file or folder of a licensed release."""

    mirror: str = ""
    folder: Path | None = None
    file: Path | None = None

    @property
    def is_local(self) -> bool:
        """True if a local file or folder is given."""
        return self.folder is not None or self.file is not None


@dataclass(frozen=True, slots=True)
class RecipeInput:
    """One input file, or the folder of a licensed release. `name` is its name in the recipe, `part` its release or model."""

    part: str
    name: str
    stored: StoredFile
    is_pinned: bool = False


@dataclass(frozen=True, slots=True)
class RecipeInputs:
    """All inputs of a recipe: the files of releases, and the files of models by model folder."""

    releases: tuple[RecipeInput, ...]
    models: dict[str, tuple[RecipeInput, ...]] = field(default_factory=dict)

    def all(self) -> Iterator[RecipeInput]:
        """Yield all inputs."""
        yield from self.releases
        for files in self.models.values():
            yield from files


def require_origin(recipe: PipelineRecipe, origin: FileSources) -> None:
    """Before downloading, raise an error if a licensed release is missing, or if --file is given but not needed."""
    licensed = recipe.release_to_bring
    if licensed is None and origin.file is not None:
        what = "--file is for licensed releases, but this recipe has none"
        raise ConfigError("config-invalid", what, where=recipe.name, fix="give local copies of downloads with --from FOLDER")
    if licensed is not None and origin.file is None:
        what = f"{licensed.title} requires a licence, so it cannot be downloaded automatically"
        fix = f"{licensed.how} Then: onym get {recipe.name} --file PATH"
        raise ConfigError("release-licensed", what, where=recipe.name, fix=fix)
    for path in filter(None, (origin.file, origin.folder)):
        if not path.exists():
            raise InputError("input-missing", "file or folder not found", where=str(path), fix="check the path")


def gather_inputs(
    recipe: PipelineRecipe, origin: FileSources, *, progress: Progress = silent, patience: Patience | None = None
) -> RecipeInputs:
    """Return all input files of a recipe. Missing files are downloaded; interrupted downloads resume."""
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
    """Return the fix for a failed download: retry, a local copy, or a mirror."""
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
    """Return a licensed release as input. A folder may be large, so its digest covers only names, sizes and times of files."""
    if path.is_file():
        return RecipeInput(release.name, release.name, local_file(path))
    files = sorted(each for each in path.rglob("*") if each.is_file())
    states = [(each.relative_to(path).as_posix(), each.stat().st_size, each.stat().st_mtime_ns) for each in files]
    digest = hashlib.sha256(json.dumps(states).encode()).hexdigest()
    return RecipeInput(release.name, release.name, StoredFile(path, "", sum(size for _, size, _ in states), digest))


RECORD, ATTRIBUTION = "recipe.json", "ATTRIBUTION.md"


class FileRecord(FileDigest):
    """An input file of an installed pipeline. `is_pinned` is true if the recipe states its digest."""

    part: str
    name: str
    url: str
    is_pinned: bool


class InstallRecord(Strict):
    """The content of `recipe.json`. `recipe_digest` covers the recipe and trained components, `kb_digest` the KB inputs."""

    onym: str
    recipe_digest: str
    kb_digest: str
    inputs_digest: str
    files: tuple[FileRecord, ...]
    recipe: dict[str, Any]

    @property
    def key(self) -> str:
        """Digest of the recipe and all inputs."""
        return _digest([self.recipe_digest, self.kb_digest, self.inputs_digest])

    @classmethod
    def of_inputs(cls, recipe: PipelineRecipe, inputs: RecipeInputs) -> Self:
        """Create the record of a recipe and its input files."""
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
    """Return a digest of a recipe and of the trained components that it takes from Onym."""
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
    """Write the licence page, then the record, which marks the pipeline as complete."""
    about = f"Made by Onym {record.onym} from the recipe `{recipe.name}`."
    with whole_file(folder / ATTRIBUTION, force=True) as file:
        file.write(licences_page(recipe.name, about, recipe.provenance).encode())
    with whole_file(folder / RECORD, force=True) as file:
        file.write(record.model_dump_json(indent=1).encode() + b"\n")


def _digest(values: Any) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]


def read_recipe(name: str) -> PipelineRecipe:
    """Return the built-in recipe of that name.

    >>> read_recipe("hpo-phenotypes").releases[0].name
    'hpo'
    """
    if not NAME.fullmatch(name) or name not in recipe_names():
        fix = f"{suggest_name(name, recipe_names())}use one of {', '.join(recipe_names())}"
        fix = "it is built in and needs no installation: use --pipeline starter" if name == STARTER else fix
        raise ConfigError("recipe-unknown", f"there is no recipe named {name!r}", fix=fix)
    return PipelineRecipe.from_toml(RECIPES / f"{name}.toml")


def default_pipeline() -> str:
    """Return the name of the default pipeline: the installed one whose recipe has the highest rank, else the starter.

    >>> default_pipeline()
    'starter'
    """
    installed = [read_recipe(name) for name in list_installed() if name in recipe_names()]
    best = max(installed, key=lambda recipe: recipe.rank, default=None)
    return best.name if best is not None and best.rank else STARTER
