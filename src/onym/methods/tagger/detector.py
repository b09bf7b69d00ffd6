"""Model detector: finds mentions with a trained model that scores spans or tags words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from onym.errors import ConfigError, missing_extra
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask
from onym.methods.detector import Detector, DetectorConfig, split_types
from onym.parts import ModelReference, OpenContext, ReaderEngine, ReaderPrecision, require_model

if TYPE_CHECKING:
    from onym.methods.tagger.spans import DetectionModel


class ModelDetectorConfig(DetectorConfig):
    """Options of a trained detector; None means the setting stored in the model."""

    kind: Literal["model"] = "model"
    model: ModelReference | None = Field(default=None, description="Folder of a detector trained by onym train.")
    threshold: float | None = Field(
        default=None, ge=0, le=1, description="Minimum probability of a mention; defaults to the threshold tuned in training."
    )
    types: str | None = Field(
        default=None,
        description="Find only mentions of these types, separated by commas; defaults to those that the pipeline may link to.",
    )
    convention: str = Field(
        default="",
        max_length=100,
        description="Follow the annotation guidelines of this training corpus, such as ncbi-disease.",
    )
    nested: bool = Field(default=False, description="Allow nested mentions.")
    dtype: ReaderPrecision = Field(
        default="auto",
        description="fp32, bf16 or int8; auto is bf16 if the hardware supports it, else fp32. int8 is faster on CPUs, with "
        "almost the same results.",
    )
    device: str = Field(
        default="auto", pattern=r"^(auto|cpu|mps|cuda(:[0-9]+)?)$", description="auto, cpu, cuda, cuda:N or mps."
    )
    engine: ReaderEngine = Field(
        default="auto",
        description="torch or onnx (ONNX Runtime, on the CPU); auto is torch if it is installed and the weights are not int8. "
        "For the student, numpy (default) or onnx. The answers are the same, nearly.",
    )


Config = ModelDetectorConfig  # the registry expects this name in every module


def open(
    config: ModelDetectorConfig,
    kb: KnowledgeBase,
    context: OpenContext,
    *,
    only: ConceptMask | None = None,
) -> Detector:
    """Open the model of the detector; a linker of the same pipeline may share the model."""
    reference = require_model(config.model, "a trained detector", "--detector-model")
    model = _open_model(reference, config, context)
    if only is not None and config.types is None:
        config = config.model_copy(update={"types": ",".join(_types_within(model, kb, only)) or None})
    return detector_of(model, config)


def _open_model(reference: ModelReference, config: ModelDetectorConfig, context: OpenContext) -> DetectionModel:
    from onym.models.opening import choose_engine, require_cpu, require_library

    require_library("a trained detector", config.engine)
    folder = reference.folder(context)
    if choose_engine(folder, config.engine) == "torch":
        try:
            from onym.methods.collective.model import open_shared
        except ImportError as e:
            raise missing_extra("a trained detector on torch", "models") from e
        return open_shared(reference, config.dtype, config.device, context)
    try:
        from onym.methods.collective.onnx_model import OnnxCollective
    except ImportError as e:
        raise missing_extra("a trained detector on ONNX Runtime", "onnx") from e
    require_cpu(config.device)
    key = ("onnx-collective", str(folder.resolve()), config.dtype)
    return context.open_once(key, lambda: OnnxCollective.open(folder, config.dtype))


def detector_of(model: DetectionModel, config: ModelDetectorConfig | None = None) -> Detector:
    """Return the detector for a model: a SpanDetector or a TagDetector, depending on how the model was trained."""
    from onym.methods.tagger.spans import SpanDetector, TagDetector

    config = config or ModelDetectorConfig()
    if model.settings.detect == "spans":
        types = split_types(config.types)
        return SpanDetector(model, types=types, convention=config.convention, threshold=config.threshold, nested=config.nested)
    if model.settings.detect == "tags":
        return TagDetector(model, threshold=config.threshold)
    fix = "use a model that was trained with start.detect"
    raise ConfigError("model-family", "the model links mentions but cannot detect them", where=model.name, fix=fix)


def _types_within(model: DetectionModel, kb: KnowledgeBase, only: ConceptMask) -> tuple[str, ...]:
    """Return the model's types that are semantic groups of concepts in `only`. If there are none, all types are used."""
    found = np.unique(kb.concept_groups.take(np.flatnonzero(only)).values)
    wanted = {kb.groups[int(group)] for group in found}
    return tuple(dict.fromkeys(label.type for label in model.settings.labels if label.type in wanted))
