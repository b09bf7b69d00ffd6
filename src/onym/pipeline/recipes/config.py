"""What a recipe of a pipeline says: releases and models with their terms, the knowledge base, trained parts, the pipeline.

Frozen and strict. `kb` is a recipe of `onym kb build`: its sources are the files of the releases, by name. Parts of the
pipeline refer to models and to trained parts by their folder inside the pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from onym.kb import Recipe
from onym.pipeline.config import AnyDetector, AnyLinker
from onym.pipeline.packs import KB
from onym.store.config import Strict, read_toml
from onym.store.download import file_name
from onym.store.parts import ModelReference

HUB = "https://huggingface.co"
"""The folder of the knowledge base inside a pipeline."""
_FOLDER = r"^[a-z0-9][a-z0-9-]*$"
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


class Terms(Strict):
    """Under which terms something may be used, and how it is cited."""

    title: str = Field(min_length=1)
    version: str = Field(min_length=1)
    licence: str = Field(min_length=1)
    attribution: str = Field(min_length=1)


class Release(Terms):
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


class HubModel(Terms):
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


class PipelineParts(Strict):
    """What the pipeline is built of, as `pipeline.json` says it."""

    detector: AnyDetector | None
    linker: AnyLinker
    types: tuple[str, ...] = ()
    restrict: bool = False
    prefer: tuple[str, ...] = ()
    threshold: float | None = Field(default=None, allow_inf_nan=False)
    top_k: int = Field(default=10, ge=1, le=1000)
    assertion: bool = False

    def references(self) -> list[str]:
        """Return the folders that the parts refer to."""
        found: list[str] = []

        def note(reference: ModelReference) -> ModelReference:
            found.append(reference.path)
            return reference

        self.linker.with_references(note)
        if self.detector is not None:
            self.detector.with_references(note)
        return found


class PipelineRecipe(Strict):
    """A whole recipe. `extra` are the packages of Onym that its pipeline needs."""

    name: str = Field(pattern=_FOLDER)
    title: str = Field(min_length=1)
    extra: Literal["", "dense"] = ""
    releases: tuple[Release, ...] = Field(min_length=1)
    kb: Recipe
    models: tuple[HubModel, ...] = ()
    trained: Trained | None = None
    pipeline: PipelineParts

    @classmethod
    def from_toml(cls, path: Path) -> PipelineRecipe:
        """Read a recipe file."""
        return cls.of(read_toml(path), where=str(path))

    @property
    def licensed(self) -> Release | None:
        """The release that a person has to bring."""
        return next((release for release in self.releases if release.is_licensed), None)

    @property
    def megabytes(self) -> float:
        """About how much is fetched."""
        files = [file.megabytes for release in self.releases for file in release.files]
        return sum(files) + sum(file.megabytes for model in self.models for file in model.files)

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
        if unknown := set(self.pipeline.references()) - folders:
            raise ValueError(f"a part of the pipeline is neither a model nor a trained part: {min(unknown)}")
        return self
