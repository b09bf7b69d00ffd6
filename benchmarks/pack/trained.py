"""The pipelines that are packed: trained here by one command, once, and kept in the cache directory.

lite    the dictionary with its classifier, and the reranker over exact names, TF-IDF and a memory, over the open, joined
        knowledge base: diseases and chemicals
full    the same with a dense stage: the reranker has the candidates of MiniLM as well
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.models import model_folder
from benchmarks.report import data_folder
from benchmarks.results.tasks import open_kb_joined
from onym.store.cache import cache_folder
from onym.train.pipeline import PipelineTrainingConfig, train_pipeline

DATASETS = ("ncbi-disease", "bc5cdr", "biored")
EXCLUDE = ("nlm-chem", "hpo-gsc")
DISEASES = ("Disease", "SpecificDisease", "DiseaseClass", "CompositeMention", "Modifier")
TYPES = {**dict.fromkeys(DISEASES, "Disease"), "Chemical": "Chemical"}


def lite_pipeline() -> Path:
    """Return the folder of `lite`; what was not trained on this machine yet is trained first."""
    return _trained("pack-lite")


def full_pipeline() -> Path:
    """Return the folder of `full`, trained as `lite` is."""
    return _trained("pack-full", dense_encoder=str(model_folder("minilm")))


def _trained(name: str, dense_encoder: str | None = None) -> Path:
    folder, kb = cache_folder() / "benchmarks" / name, str(open_kb_joined().folder.parent)
    config = PipelineTrainingConfig(kb=kb, datasets=DATASETS, exclude=EXCLUDE, types=TYPES, dense_encoder=dense_encoder)
    train_pipeline(config, folder, data_folder())
    return folder
