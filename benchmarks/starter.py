"""Make the starter again: the pipeline that comes with Onym, from the release of MONDO and the kept trained parts.

    python -m benchmarks.starter FOLDER

The knowledge base and its TF-IDF are built from the files of `ONYM_DATA`, by the recipe `starter.toml`. The reranker, the
classifier and the calibration are kept: they were trained by `starter-reranker.toml` and `starter-classifier.toml` on the
training splits of NCBI disease, BC5CDR and BioRED; `onym calibrate FOLDER --dataset bc5cdr --dataset ncbi-disease --dataset
biored` used their dev splits, and the same with `--mentions terms --type Disease --type SpecificDisease --type DiseaseClass
--type Modifier --type CompositeMention` for that of terms.
A test compares the bytes with those of the package.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from benchmarks.report import data_folder
from onym.kb import KnowledgeBase, Recipe, build_kb
from onym.kb.search import open_similarity
from onym.packs.locate import STARTER, locate

RECIPE = Path(__file__).parent / "recipes" / "starter.toml"
KEPT = ("LICENSE.md", "README.md", "pipeline.json", "reranker", "classifier")


def make_starter(folder: Path) -> None:
    """Write the starter into a folder that is not there yet."""
    kept = locate(STARTER)
    folder.mkdir(parents=True)
    build_kb(Recipe.from_toml(RECIPE), folder / "knowledge-base", root=data_folder())
    open_similarity(KnowledgeBase.open(folder / "knowledge-base"))
    for name in KEPT:
        copy = shutil.copytree if (kept / name).is_dir() else shutil.copyfile
        copy(kept / name, folder / name)
    for lock in folder.rglob(".lock"):
        lock.unlink()


if __name__ == "__main__":
    make_starter(Path(sys.argv[1]))
