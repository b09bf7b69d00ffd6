"""The pipelines that are packed: trained here by one command, once, and kept in the cache directory.

lite    the dictionary with its classifier, and the reranker over exact names, TF-IDF and a memory, over the open, joined
        knowledge base: diseases and chemicals
"""

from __future__ import annotations

from pathlib import Path

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
    folder = cache_folder() / "benchmarks" / "pack-lite"
    config = PipelineTrainingConfig(kb=str(open_kb_joined().folder.parent), datasets=DATASETS, exclude=EXCLUDE, types=TYPES)
    train_pipeline(config, folder, data_folder())
    return folder
