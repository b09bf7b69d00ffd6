"""Retrain the MeSH models that come with Onym: classifier, reranker, threshold and confidence calibration.

    python -m benchmarks.mesh_parts FOLDER

Runs `onym train pipeline` over the knowledge base of the recipe `mesh-diseases-chemicals-trained`, from the files in
`ONYM_DATA`; a quarter of an hour on one core. All output is kept in FOLDER, where an interrupted run resumes. FOLDER/parts
has the files of the package except README and LICENSE; each is compared with the packaged file.
"""

from __future__ import annotations

import logging
import shutil
import sys
import zipfile
from pathlib import Path

from tests.robustness.cli.catalogue import path_of, write_releases

from benchmarks.report import data_folder
from benchmarks.speed.pack import DATASETS, EXCLUDE, TYPES
from onym.kb import build_kb
from onym.packs import build_pack
from onym.packs.locate import KB, pack_folder
from onym.packs.recipe import PipelineRecipe, read_recipe
from onym.pipeline.config import FILE
from onym.store.files.source import Source
from onym.train.pipeline import PipelineTrainingConfig, train_pipeline

RECIPE = "mesh-diseases-chemicals-trained"
_MODELS = "models/"
_WRITTEN = {"README.md", "LICENSE.md"}


def make_parts(folder: Path) -> Path:
    """Train in a folder, and return the folder of the trained models, which contains no paths of this machine."""
    recipe = read_recipe(RECIPE)
    folder.mkdir(parents=True, exist_ok=True)
    kb = _kb(recipe, folder)
    config = PipelineTrainingConfig(kb=str(kb), datasets=DATASETS, exclude=EXCLUDE, types=TYPES, prefer=("mesh",))
    train_pipeline(config, folder / "pipeline", data_folder())
    build_pack(folder / "pipeline", folder / "mesh.onymp", force=True)
    return _unpack_models(folder / "mesh.onymp", folder / "parts")


def differing(parts: Path, package: Path) -> list[str]:
    """Return the files that differ or exist in only one folder, ignoring hand-written ones."""
    one, other = (
        {path.relative_to(each).as_posix(): path.read_bytes() for path in each.rglob("*") if path.is_file()}
        for each in (parts, package)
    )
    return sorted(name for name in (one.keys() | other.keys()) - _WRITTEN if one.get(name) != other.get(name))


def _kb(recipe: PipelineRecipe, folder: Path) -> Path:
    kb = folder / KB
    if not (kb / "CURRENT").is_file():
        write_releases(recipe, folder / "releases", data_folder())
        files = {file.name: path_of(file.url) for release in recipe.releases for file in release.files}
        build_kb(recipe.kb, kb, sources={name: Source.open(folder / "releases" / path) for name, path in files.items()})
    return kb


def _unpack_models(pack: Path, dest: Path) -> Path:
    """Extract the models of a pack and its pipeline into one folder."""
    shutil.rmtree(dest, ignore_errors=True)
    with zipfile.ZipFile(pack) as archive:
        for name in archive.namelist():
            if name.startswith(_MODELS):
                _write(dest / name.removeprefix(_MODELS), archive.read(name))
        config = archive.read(FILE).decode()
    _write(dest / FILE, config.replace(f'"{_MODELS}', '"').encode())
    return dest


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    found = differing(make_parts(Path(sys.argv[1])), pack_folder("mesh"))
    print("\n".join(found) or "all files are those of the package")
