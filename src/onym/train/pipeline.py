"""`onym train pipeline`: train and calibrate a whole pipeline on annotated documents.

The steps are: detector, reranker with its memory, pipeline folder, threshold, confidence of links in text, confidence of terms,
card. Each step writes its output before the next starts, so an interrupted run resumes at the first missing output. The
detector is a student, to which a dictionary with a classifier adds names; without torch, that dictionary alone; or a large
neural model if an encoder is given.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from onym.datasets.prepared import open_dataset
from onym.errors import ConfigError, InputError, missing_extra
from onym.evaluate.run import predict_end_to_end
from onym.evaluate.task import EvaluationTask
from onym.evaluate.tuning import Mentions, calibrate_pipeline, cross_validate_f1, tune_threshold
from onym.evaluate.types import TRAINING_REQUEST
from onym.kb import KnowledgeBase
from onym.kb.ranking import concepts_of_types
from onym.methods import detector_config, linker_config
from onym.methods.detector import DetectorConfig
from onym.outputs.predictions import Predictions
from onym.packs.locate import load, locate_kb, read_pipeline
from onym.pipeline.config import FILE, PipelineOptions
from onym.pipeline.folder import build_pipeline, store_calibration, store_threshold
from onym.pipeline.pipeline import Pipeline
from onym.store.models import folder_of
from onym.store.output import require_folder, whole_file
from onym.train.card import pipeline_card
from onym.train.configs import (
    CorporaConfig,
    DetectorTrainingConfig,
    MentionsTrainingConfig,
    RerankTrainingConfig,
    StudentTrainingConfig,
    read_encoder_name,
)
from onym.train.corpora import rename_types
from onym.train.dictionary.trainer import train_classifier
from onym.train.reranker.trainer import train_reranker
from onym.train.stages import find_preset, merge, require_same
from onym.train.student.trainer import train_student

DEV = "dev"
_CLASSIFIER, _STUDENT, _MODEL, _RERANKER = "classifier", "student", "detector", "reranker"
_DEV_FIGURES, _CARD = "dev.json", "README.md"
_PRESET = "cpu-small-detect"
_log = logging.getLogger("onym.train")


class PipelineTrainingConfig(CorporaConfig):
    """Configuration of `onym train pipeline`.

    `types` maps the annotated types to use to semantic groups of the knowledge base; empty means all types, not renamed.
    With `encoder`, the folder or hub name of a pretrained model, a neural detector is trained for `epochs` epochs. With
    `dense_encoder`, the reranker also gets the candidates of a dense linker.
    """

    kb: Annotated[str, Field(min_length=1), AfterValidator(lambda name: str(locate_kb(name)))]
    types: dict[str, str] = Field(default_factory=dict)
    encoder: Annotated[str, AfterValidator(read_encoder_name)] = Field(
        default="",
        description="Train a neural detector from this pretrained encoder (folder or hub name), instead of a student.",
    )
    epochs: float = Field(default=8.0, gt=0, description="Number of training epochs of the neural detector.")
    detector: Literal["auto", "student", "dictionary"] = Field(
        default="auto",
        description="Without an encoder: student (a small network, and names of the dictionary) or dictionary (names alone). "
        "auto is student if torch is installed.",
    )
    dense_encoder: Annotated[str | None, BeforeValidator(lambda name: None if name == "none" else name)] = Field(
        default=None,
        min_length=1,
        description="Also give the reranker candidates of a dense linker with this encoder (folder). Default: no dense linker.",
    )
    prefer: tuple[str, ...] = Field(
        default=(),
        description="Vocabulary of the annotations, such as mesh, which the pipeline prefers too. May be repeated.",
    )
    follow_annotations: bool = Field(
        default=True,
        description="Link a name as the training documents do, if they have it at least three times and in 80 % of the cases "
        "with one concept, whatever the order of vocabularies says.",
    )

    @property
    def groups(self) -> list[str]:
        """Semantic groups to detect and link; empty means all."""
        return sorted(set(self.types.values()))


def train_pipeline(config: PipelineTrainingConfig, dest: Path, data: Path | None = None) -> Pipeline:
    """Train a pipeline in the folder `dest`, or resume an interrupted run with the same configuration."""
    if not (dest / TRAINING_REQUEST).is_file():
        require_folder(dest)
    if config.encoder and find_spec("accelerate") is None:
        raise missing_extra("training a detector from an encoder", "train")
    if config.detector == "student" and find_spec("torch") is None:
        raise missing_extra("training a student", "train")
    _require_dev(config, data)
    if config.dense_encoder is not None:
        _require_encoder(config.dense_encoder)
    kb = KnowledgeBase.open(config.kb)
    concepts_of_types(kb, config.groups)  # called only to raise if no concept is in these groups
    require_same(dest / TRAINING_REQUEST, {**config.model_dump(mode="json", exclude_none=True), "kb": kb.digest})
    for number, (what, step) in enumerate(_STEPS, 1):
        _log.info("step %d of %d: %s", number, len(_STEPS), what)
        step(config, dest, data)
    return load(dest)


def _require_encoder(encoder: str) -> None:
    """Raise, before training starts, if the encoder of the dense linker cannot be opened or faiss is missing."""
    from onym.methods.dense.index.kinds import faiss
    from onym.models.opening import open_encoder

    open_encoder(folder_of(encoder, download=False), device="cpu")
    faiss()


def _detector(config: PipelineTrainingConfig, dest: Path, data: Path | None) -> None:
    if config.encoder:
        _model(config, dest, data)
        return
    _classifier(config, dest, data)
    if config.detector == "student" or (config.detector == "auto" and find_spec("torch") is not None):
        _student(config, dest, data)


def _model(config: PipelineTrainingConfig, dest: Path, data: Path | None) -> None:
    if not (dest / _MODEL).exists():
        from onym.train.run import train  # a slow import that needs torch

        own = {"types": _group_types(config, data), "conventions": False, **_corpora(config)}
        values = find_preset(_PRESET) | {"data": own}
        values = merge(values, {"start": {"model": config.encoder}, "optim": {"epochs": config.epochs}})
        train(DetectorTrainingConfig.of(values), dest / _MODEL, data)


def _classifier(config: PipelineTrainingConfig, dest: Path, data: Path | None) -> None:
    if not (dest / _CLASSIFIER).exists():
        own = {"types": _group_types(config, data), "only": config.groups, "kb": config.kb, **_corpora(config)}
        with _skip_if_too_little("no classifier", "training-empty"):
            train_classifier(MentionsTrainingConfig.of({"data": own}), dest / _CLASSIFIER, data)


def _student(config: PipelineTrainingConfig, dest: Path, data: Path | None) -> None:
    if not (dest / _STUDENT).exists():
        own = {"types": _group_types(config, data), "kb": config.kb, **_corpora(config)}
        with _skip_if_too_little("no student", "training-empty"):
            train_student(StudentTrainingConfig.of({"data": own}), dest / _STUDENT, data)


def _reranker(config: PipelineTrainingConfig, dest: Path, data: Path | None) -> None:
    if not (dest / _RERANKER).exists():
        own = {"types": sorted(config.types), "kb": config.kb, **_corpora(config)}
        values = {"stage": "rerank", "data": own, "pool": {"encoder": config.dense_encoder or ""}}
        values["dev"] = {"follow_annotations": config.follow_annotations}
        train_reranker(RerankTrainingConfig.of(values), dest / _RERANKER, data)


def _build(config: PipelineTrainingConfig, dest: Path, _: Path | None) -> None:
    if not (dest / FILE).exists():
        own = {"encoder": config.dense_encoder, "follow_annotations": config.follow_annotations}
        linker = linker_config("rerank", model=str(dest / _RERANKER), **own)
        detector = _train_detector(config, dest)
        options = PipelineOptions(types=tuple(config.groups), prefer=tuple(config.prefer))
        build_pipeline(config.kb, dest, linker=linker, detector=detector, options=options)


def _train_detector(config: PipelineTrainingConfig, dest: Path) -> DetectorConfig:
    if config.encoder:
        return detector_config("model", model=str(dest / _MODEL))
    names = {"classifier": str(dest / _CLASSIFIER)} if (dest / _CLASSIFIER).exists() else {}
    if (dest / _STUDENT).exists():
        return detector_config("student", model=str(dest / _STUDENT), **names)
    return detector_config("dictionary", **names)


def _tune(config: PipelineTrainingConfig, dest: Path, data: Path | None) -> None:
    if not (dest / _DEV_FIGURES).is_file():
        pipeline = load(dest)
        tasks = _dev_tasks(config, pipeline, data)
        _log.info("linking the texts of %s", DEV)
        gold = [doc for task in tasks for doc in rename_types(task.dataset.documents(DEV), _group_types(config, data))]
        found = Predictions.of((each for task in tasks for each in predict_end_to_end(task, pipeline)), pipeline.source())
        canonical = tasks[0].resolver.canonical
        tuned, held_out = tune_threshold(gold, found, canonical), cross_validate_f1(gold, found, canonical)
        if held_out > tuned.f1_without:
            store_threshold(dest, tuned.threshold)
        counts = {"documents": len(gold), "mentions": sum(len(doc.mentions) for doc in gold)}
        with whole_file(dest / _DEV_FIGURES, force=True) as file:
            file.write(json.dumps(asdict(tuned) | {"f1_held_out": held_out} | counts, indent=1).encode() + b"\n")


def _calibrate_links(config: PipelineTrainingConfig, dest: Path, data: Path | None) -> None:
    if read_pipeline(dest).calibration is None:
        _calibrate(config, dest, data, "found")


def _calibrate_terms(config: PipelineTrainingConfig, dest: Path, data: Path | None) -> None:
    if read_pipeline(dest).term_calibration is None:
        _calibrate(config, dest, data, "terms")


def read_dev_figures(folder: Path) -> dict[str, float]:
    """Return the strict F1 of a trained pipeline on dev, from raw text, and the numbers of its documents and mentions.

    `f1_without` is without a threshold. `f1_held_out` is with one: each document with that tuned on others (cross-validation).
    """
    found: dict[str, float] = json.loads((folder / _DEV_FIGURES).read_bytes())
    return found


def _write_card(config: PipelineTrainingConfig, dest: Path, data: Path | None) -> None:
    datasets = [open_dataset(name, data) for name in config.datasets]
    figures = read_dev_figures(dest)
    kb = KnowledgeBase.open(config.kb)  # opening the pipeline instead would load all its models
    card = pipeline_card(read_pipeline(dest), kb, datasets, Path(config.encoder).name, figures)
    with whole_file(dest / _CARD, force=True) as file:
        file.write(card.encode())


_STEPS: tuple[tuple[str, Callable[[PipelineTrainingConfig, Path, Path | None], None]], ...] = (
    ("the detector", _detector),
    ("the reranker and its memory", _reranker),
    ("the pipeline", _build),
    ("the threshold of scores", _tune),
    ("the confidence of links", _calibrate_links),
    ("the confidence of terms", _calibrate_terms),
    ("the card", _write_card),
)


def _calibrate(config: PipelineTrainingConfig, dest: Path, data: Path | None, mentions: Mentions) -> None:
    pipeline = load(dest)
    tasks = _dev_tasks(config, pipeline, data)
    types = sorted(config.types) if mentions == "terms" else ()
    with _skip_if_too_little(f"no confidence of {'terms' if mentions == 'terms' else 'links'}", "calibration-invalid"):
        store_calibration(dest, calibrate_pipeline(tasks, pipeline, mentions, types))


def _dev_tasks(config: PipelineTrainingConfig, pipeline: Pipeline, data: Path | None) -> list[EvaluationTask]:
    return [EvaluationTask.open(name, DEV, kb=pipeline.kb, data=data) for name in config.datasets]


@contextmanager
def _skip_if_too_little(what: str, code: str) -> Iterator[None]:
    """Log a warning instead of raising if a component has too little training data (an InputError with this `code`)."""
    try:
        yield
    except InputError as e:
        if e.code != code:
            raise
        _log.warning("%s: %s", what, e.what)


def _group_types(config: PipelineTrainingConfig, data: Path | None) -> dict[str, str]:
    """Return the semantic group of each annotated type; "" for types that are not used."""
    if not config.types:
        return {}
    documents = (doc for name in config.datasets for doc in open_dataset(name, data).documents("train"))
    annotated = {mention.type for doc in documents for mention in doc.mentions}
    return dict.fromkeys(sorted(annotated), "") | config.types


def _corpora(config: PipelineTrainingConfig) -> dict[str, object]:
    return {"datasets": config.datasets, "exclude": config.exclude, "private": config.private}


def _require_dev(config: PipelineTrainingConfig, data: Path | None) -> None:
    """Raise ConfigError, before training starts, if a dataset has no train or no dev split."""
    for name in config.datasets:
        splits = open_dataset(name, data).splits
        if missing := [split for split in ("train", DEV) if split not in splits]:
            what = f"a pipeline is trained on train and calibrated on dev, but this dataset has no {missing[0]} split"
            raise ConfigError("dataset-split", what, where=name, fix="split the dataset with onym dataset prepare --shares")
