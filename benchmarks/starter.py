"""Rebuild the starter, the pipeline that comes with Onym, from a MONDO release and the stored trained models.

    python -m benchmarks.starter FOLDER

The knowledge base and its TF-IDF index are built from the files in `ONYM_DATA` with the recipe `starter.toml`. The reranker and
the classifier are not retrained; they were trained with `starter-reranker.toml` and `starter-classifier.toml` on the training
splits of NCBI disease, BC5CDR and BioRED. The calibration was fitted on their dev splits with `onym calibrate FOLDER --dataset
bc5cdr --dataset ncbi-disease --dataset biored`; the calibration for terms with the additional options `--mentions terms --type
Disease --type SpecificDisease --type DiseaseClass --type Modifier --type CompositeMention`.
A test compares the result with the packaged files, byte for byte.
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
    """Write the starter into a new folder."""
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
