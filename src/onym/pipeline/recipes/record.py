"""What an installed pipeline was made of: `recipe.json` and `ATTRIBUTION.md` in its folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from onym._version import __version__
from onym.pipeline.config import digest_of
from onym.pipeline.packs import FILE, pack_folder
from onym.pipeline.recipes.config import PipelineRecipe, Terms
from onym.pipeline.recipes.inputs import Inputs
from onym.store.digests import file_digest
from onym.store.models import folder_digest
from onym.store.output import whole_file

RECORD, ATTRIBUTION = "recipe.json", "ATTRIBUTION.md"


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file that an installed pipeline was made of. `is_pinned` says that the recipe itself has its digest."""

    part: str
    name: str
    url: str
    bytes: int
    sha256: str
    is_pinned: bool


@dataclass(frozen=True, slots=True)
class InstallRecord:
    """What was installed, as digests: `recipe` of all that Onym brings, `kb` of all that the knowledge base is made of."""

    recipe: str
    kb: str
    inputs: str
    files: tuple[FileRecord, ...] = ()

    @property
    def key(self) -> str:
        """The digest of all of it."""
        return _digest([self.recipe, self.kb, self.inputs])


def record_of(recipe: PipelineRecipe, inputs: Inputs) -> InstallRecord:
    """Return the record of a recipe and its files."""
    files = tuple(
        FileRecord(each.part, each.name, each.stored.url, each.stored.bytes, each.stored.sha256, each.is_pinned)
        for each in inputs.all()
    )
    made_of = [[each.name, each.stored.sha256] for each in inputs.releases]
    kb = _digest([recipe.kb.model_dump(mode="json"), made_of])
    return InstallRecord(identity_of(recipe), kb, _digest([[each.part, each.name, each.sha256] for each in files]), files)


def identity_of(recipe: PipelineRecipe) -> str:
    """Return a digest of what a recipe says, and of the trained parts that come with Onym."""
    trained = recipe.trained
    if trained is None:
        return digest_of(recipe)
    pack = pack_folder(trained.pack)
    parts = [folder_digest(pack / part) for part in trained.parts]
    return _digest([digest_of(recipe), *parts, file_digest(pack / FILE) if trained.calibration else ""])


def read_record(folder: Path) -> InstallRecord | None:
    """Return the record of an installed pipeline; None where there is none that can be read.

    >>> read_record(getfixture("tmp_path")) is None
    True
    """
    try:
        values = json.loads((folder / RECORD).read_bytes())
        files = tuple(FileRecord(**each) for each in values["files"])
        return InstallRecord(values["recipe_digest"], values["kb_digest"], values["inputs_digest"], files)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_record(recipe: PipelineRecipe, record: InstallRecord, folder: Path) -> None:
    """Write both files; the record, which says that all is there, comes last."""
    with whole_file(folder / ATTRIBUTION, force=True) as file:
        file.write("\n".join(_attribution(recipe)).encode() + b"\n")
    values: dict[str, Any] = {
        "onym": __version__,
        "recipe_digest": record.recipe,
        "kb_digest": record.kb,
        "inputs_digest": record.inputs,
        "files": [asdict(each) for each in record.files],
        "recipe": recipe.model_dump(mode="json"),
    }
    with whole_file(folder / RECORD, force=True) as file:
        file.write(json.dumps(values, indent=1, ensure_ascii=False).encode() + b"\n")


def _attribution(recipe: PipelineRecipe) -> Iterator[str]:
    yield f"# {recipe.title}"
    yield ""
    yield f"Made by Onym {__version__} from the recipe `{recipe.name}`. Names are normalised, indexed and filtered."
    terms: tuple[Terms, ...] = (*recipe.releases, *recipe.models)
    for each in terms:
        yield ""
        yield f"## {each.title}, {each.version}"
        yield ""
        yield f"Licence: {each.licence}"
        yield ""
        yield each.attribution


def _digest(values: Any) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]
