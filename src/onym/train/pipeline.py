"""`onym train pipeline`: from annotated documents to a pipeline with a probability, by one command and without torch.

The dictionary's classifier, the reranker with its memory, the pipeline's folder, the confidence of links in text, and that of
terms, in this order. Each is published before the next is begun: an interrupted run goes on with what is missing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import Field

from onym.datasets.cached import open_dataset
from onym.detect import detector_config
from onym.errors import ConfigError, InputError
from onym.evaluate.calibration import Mentions, calibrate_pipeline
from onym.evaluate.task import EvaluationTask
from onym.kb import KnowledgeBase
from onym.linkers import linker_config
from onym.pipeline.folder import build_pipeline, load, read_pipeline, store_calibration
from onym.pipeline.packs import FILE
from onym.pipeline.pipeline import Pipeline
from onym.store.output_path import require_folder
from onym.train.corpora import CorporaConfig
from onym.train.mentions.config import MentionsTrainingConfig
from onym.train.mentions.mentions import train_classifier
from onym.train.rerank.config import RerankTrainingConfig
from onym.train.rerank.rerank import train_reranker
from onym.train.stages import require_same

DEV = "dev"
_CLASSIFIER, _RERANKER, _REQUEST = "classifier", "reranker", "request.json"
_log = logging.getLogger("onym.train")


class PipelineTrainingConfig(CorporaConfig):
    """What a pipeline is trained on and for.

    `types` are the annotated types that count, each with the semantic group of the knowledge base that it is; none are all, by
    their own names.
    """

    kb: str = Field(min_length=1)
    types: dict[str, str] = Field(default_factory=dict)


def train_pipeline(config: PipelineTrainingConfig, dest: Path, data: Path | None = None) -> Pipeline:
    """Train a pipeline into a folder, or go on with one that was begun with the same configuration."""
    if not (dest / _REQUEST).is_file():
        require_folder(dest)
    _require_dev(config, data)
    _require_same(config, dest)
    for number, (what, step) in enumerate(_STEPS, 1):
        _log.info("step %d of %d: %s", number, len(_STEPS), what)
        step(config, dest, data)
    return load(dest)


def _classifier(config: PipelineTrainingConfig, dest: Path, data: Path | None) -> None:
    if not (dest / _CLASSIFIER).exists():
        groups = sorted(set(config.types.values()))
        own = {"types": _renamed(config, data), "only": groups, "kb": config.kb, **_corpora(config)}
        with _left_out("no classifier", "training-empty"):
            train_classifier(MentionsTrainingConfig.of({"data": own}), dest / _CLASSIFIER, data)


def _reranker(config: PipelineTrainingConfig, dest: Path, data: Path | None) -> None:
    if not (dest / _RERANKER).exists():
        own = {"types": sorted(config.types), "kb": config.kb, **_corpora(config)}
        train_reranker(RerankTrainingConfig.of({"stage": "rerank", "data": own}), dest / _RERANKER, data)


def _build(config: PipelineTrainingConfig, dest: Path, _: Path | None) -> None:
    if not (dest / FILE).exists():
        classifier = dest / _CLASSIFIER
        detector = detector_config("dictionary", **({"classifier": str(classifier)} if classifier.exists() else {}))
        linker = linker_config("rerank", model=str(dest / _RERANKER))
        build_pipeline(config.kb, dest, linker=linker, detector=detector, types=sorted(set(config.types.values())))


def _calibrate_links(config: PipelineTrainingConfig, dest: Path, data: Path | None) -> None:
    if read_pipeline(dest).calibration is None:
        _calibrate(config, dest, data, "found")


def _calibrate_terms(config: PipelineTrainingConfig, dest: Path, data: Path | None) -> None:
    if read_pipeline(dest).term_calibration is None:
        _calibrate(config, dest, data, "terms")


_STEPS: tuple[tuple[str, Callable[[PipelineTrainingConfig, Path, Path | None], None]], ...] = (
    ("the classifier of what the dictionary finds", _classifier),
    ("the reranker and its memory", _reranker),
    ("the pipeline", _build),
    ("the confidence of links", _calibrate_links),
    ("the confidence of terms", _calibrate_terms),
)


def _calibrate(config: PipelineTrainingConfig, dest: Path, data: Path | None, mentions: Mentions) -> None:
    pipeline = load(dest)
    tasks = [EvaluationTask.open(name, DEV, kb=pipeline.kb, data=data) for name in config.datasets]
    types = sorted(config.types) if mentions == "terms" else ()
    with _left_out(f"no confidence of {'terms' if mentions == 'terms' else 'links'}", "calibration-invalid"):
        store_calibration(dest, calibrate_pipeline(tasks, pipeline, mentions, types))


@contextmanager
def _left_out(what: str, code: str) -> Iterator[None]:
    """Go on without a part for which there is too little to learn from, and say so."""
    try:
        yield
    except InputError as e:
        if e.code != code:
            raise
        _log.warning("%s: %s", what, e.what)


def _renamed(config: PipelineTrainingConfig, data: Path | None) -> dict[str, str]:
    """Return the group of each annotated type; those that do not count have none."""
    if not config.types:
        return {}
    documents = (doc for name in config.datasets for doc in open_dataset(name, data).documents("train"))
    annotated = {mention.type for doc in documents for mention in doc.mentions}
    return dict.fromkeys(sorted(annotated), "") | config.types


def _corpora(config: PipelineTrainingConfig) -> dict[str, object]:
    return {"datasets": config.datasets, "exclude": config.exclude, "private": config.private}


def _require_dev(config: PipelineTrainingConfig, data: Path | None) -> None:
    """Refuse, before any work, a dataset that nothing can be learnt from or calibrated on."""
    for name in config.datasets:
        splits = open_dataset(name, data).splits
        if missing := [split for split in ("train", DEV) if split not in splits]:
            what = f"a pipeline is trained on train and calibrated on dev, and there is no {missing[0]}"
            raise ConfigError("dataset-split", what, where=name, fix="prepare it with onym dataset prepare --shares")


def _require_same(config: PipelineTrainingConfig, dest: Path) -> None:
    """Refuse to go on with a pipeline that was begun with another configuration or knowledge base."""
    require_same(dest / _REQUEST, {**config.model_dump(mode="json"), "kb": KnowledgeBase.open(config.kb).digest})
