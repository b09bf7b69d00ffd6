"""Build the starter, the pipeline that comes with Onym.

    python -m benchmarks.starter FOLDER             the knowledge base, with the models of the package
    python -m benchmarks.starter FOLDER --train     the knowledge base and all models

The knowledge base and its TF-IDF index are built from the files in `ONYM_DATA` with the recipe `starter.toml` and the sources
of `benchmarks.starter_sources`. `--train` trains the classifier with `starter-classifier.toml`, the student and its teachers
with `starter-student.toml`, and the reranker with `starter-reranker.toml` on the training splits of NCBI disease, BC5CDR and
BioRED, builds the pipeline of `starter-pipeline.toml`, and fits both confidences, of links in raw text and of terms, on the
dev splits. Documents of a dev or test split of any corpus are left out of training, those of a test split out of calibration.
It takes forty minutes on one core. Each step writes a file or folder, and is skipped if it exists: to use other models, put
them into FOLDER first. The commands of the steps are, in FOLDER:

    onym train mentions --config starter-classifier.toml -o classifier
    onym train student --config starter-student.toml -o student
    onym train rerank --config starter-reranker.toml -o reranker
    onym pipeline build --kb knowledge-base -o . --detector student --detector-model student ...
    onym calibrate . --dataset bc5cdr --dataset ncbi-disease --dataset biored --prefer mesh
    onym calibrate . --dataset bc5cdr ... --mentions terms --type Disease ...

A test compares the result without `--train` with the packaged files, byte for byte.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.batch import OLD
from benchmarks.report import data_folder
from benchmarks.starter_sources import open_sources
from onym.config import read_toml
from onym.evaluate.task import EvaluationTask
from onym.evaluate.tuning import Mentions, calibrate_pipeline
from onym.kb import KnowledgeBase, Recipe, build_kb
from onym.kb.name_table import FOLDER as NAME_TABLES
from onym.kb.search import open_similarity
from onym.methods import detector_config, linker_config
from onym.packs.locate import STARTER, load, locate, read_pipeline
from onym.pipeline.config import FILE, PipelineOptions
from onym.pipeline.folder import build_pipeline, store_calibration
from onym.train.configs import StudentTrainingConfig
from onym.train.dictionary.trainer import train_classifier
from onym.train.reranker.trainer import train_reranker
from onym.train.stages import read_config
from onym.train.student.trainer import train_student

_TEACHER_EPOCHS = 20
_RECIPES = Path(__file__).parent / "recipes"
RECIPE = _RECIPES / "starter.toml"
KB, CLASSIFIER, STUDENT, RERANKER = Path("knowledge-base"), Path("classifier"), Path("student"), Path("reranker")
TEACHERS, DEV = Path("teachers"), "dev"
WRITTEN, TRAINED = ("LICENSE.md", "README.md"), (FILE, "reranker", "classifier", "student")
_log = logging.getLogger("onym.starter")


def make_starter(folder: Path, *, is_trained: bool = False) -> None:
    """Write the starter into a folder: train its models, or copy those of the package."""
    data, package = data_folder(), locate(STARTER)
    folder.mkdir(parents=True, exist_ok=True)
    with chdir(folder):  # so that records have no paths of this machine
        _build_kb(data)
        if is_trained:
            _train(data)
        for name in (*WRITTEN, *(() if is_trained else TRAINED)):
            _copy(package / name, Path(name))
        for derived in (KB / NAME_TABLES, TEACHERS):  # not part of the package
            shutil.rmtree(derived, ignore_errors=True)
        for lock in Path().rglob(".lock"):
            lock.unlink()


def _build_kb(data: Path) -> None:
    with _step("knowledge base"):
        if not KB.exists():
            build_kb(Recipe.from_toml(RECIPE), KB, root=data, sources=open_sources())
        open_similarity(KnowledgeBase.open(KB))


def _train(data: Path) -> None:
    recipe = read_toml(_RECIPES / "starter-pipeline.toml")
    with _step("classifier"):
        if not CLASSIFIER.exists():
            train_classifier(read_config("mentions", _RECIPES / "starter-classifier.toml"), CLASSIFIER, data)  # type: ignore[arg-type]
    with _step("student"):
        if not STUDENT.exists():
            _train_student(data)
    with _step("reranker"):
        if not RERANKER.exists():
            train_reranker(read_config("rerank", _RECIPES / "starter-reranker.toml"), RERANKER, data)  # type: ignore[arg-type]
    with _step("pipeline"):
        if not Path(FILE).exists():
            detector, linker = detector_config(**recipe["detector"]), linker_config(**recipe["linker"])
            options = PipelineOptions.of(recipe["options"])
            build_pipeline(KB, Path(), detector=detector, linker=linker, options=options)
    fitted = recipe["calibration"]
    with _step("confidence of links"):
        if read_pipeline(Path()).calibration is None:
            _calibrate(fitted["datasets"], data, "found", ())
    with _step("confidence of terms"):
        if read_pipeline(Path()).term_calibration is None:
            _calibrate(fitted["datasets"], data, "terms", fitted["types"])


def _train_student(data: Path) -> None:
    """Train the teachers, each with its own seed, and the student."""
    config = StudentTrainingConfig.of(read_toml(_RECIPES / "starter-student.toml"))
    teaching = config.teaching
    for folder in map(Path, teaching.detectors if teaching else ()):
        if not folder.exists():
            optim = config.optim.model_copy(update={"seed": int(folder.name), "epochs": _TEACHER_EPOCHS})
            train_student(config.model_copy(update={"optim": optim, "teaching": None}), folder, data)
    texts = Path(OLD)
    texts.symlink_to(data / "pubmed" / OLD)  # so that the record has no path of this machine
    train_student(config, STUDENT, data)
    texts.unlink()


def _calibrate(datasets: Sequence[str], data: Path, mentions: Mentions, types: Sequence[str]) -> None:
    pipeline = load(Path(), prefer=["mesh"])  # the corpora are annotated with MeSH
    tasks = [EvaluationTask.open(name, DEV, kb=pipeline.kb, data=data) for name in datasets]
    store_calibration(Path(), calibrate_pipeline(tasks, pipeline, mentions, types))


def _copy(source: Path, dest: Path) -> None:
    if not dest.exists():
        copy: Any = shutil.copytree if source.is_dir() else shutil.copyfile
        copy(source, dest)


@contextmanager
def _step(what: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    _log.info("%s: %.0f s", what, time.perf_counter() - began)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--train", action="store_true", help="train all models instead of copying those of the package")
    options = parser.parse_args()
    make_starter(options.folder, is_trained=options.train)
