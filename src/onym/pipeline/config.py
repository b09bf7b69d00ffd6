"""The configuration of a pipeline: its options, its components, and `pipeline.json` (format 2). Unknown keys are rejected.

The linker and the detector are configured by their own classes: `kind` is the short name by which the registry finds them. A
part that comes from a plug-in is recorded with its package and version.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, SerializeAsAny, ValidationError, ValidationInfo

from onym.calibrate import Calibration
from onym.config import Strict
from onym.detect.base import DetectorConfig
from onym.errors import ConfigError, IntegrityError
from onym.linkers.base import LinkerConfig
from onym.parts import ModelReference
from onym.registry import DETECTORS, LINKERS, Registry

FILE = "pipeline.json"
FORMAT: Literal[2] = 2


class Reference(Strict):
    """A folder that a pipeline needs, and the digest that it had when the pipeline was built.

    `path` is relative to the pipeline's own folder where it lies inside it; then both can be moved together.
    """

    path: str
    digest: str


class PlugIn(Strict):
    """The package that a part comes from."""

    kind: str
    name: str
    package: str
    version: str


class FittedCalibration(Strict):
    """A calibration and what it was fitted on: a split of a dataset, with mentions that were `given` or `found` in raw text.

    `terms` are mentions without their text, each surface once, as the cells of a column are.
    Of several datasets, names and digests are separated by commas. `left_out` counts the documents that two of them share, or
    that one of them tests with. `gold` is the number of mentions that should have had an answer. `types` are the annotated
    types that were looked at, all where there are none.
    """

    dataset: str
    split: str
    digest: str
    mentions: Literal["given", "found", "terms"]
    documents: int = Field(ge=1)
    left_out: int = Field(default=0, ge=0)
    gold: int = Field(default=0, ge=0)
    types: tuple[str, ...] | None = Field(default=None, exclude_if=lambda types: types is None)
    calibration: Calibration


def digest_of(config: Strict) -> str:
    """Return the beginning of a digest of what a configuration says."""
    return hashlib.sha256(config.model_dump_json().encode()).hexdigest()[:16]


def _of_kind(registry: Registry) -> Any:
    """Return the validator that finds a part's own configuration class by `kind`."""

    def validate(value: Any, _info: ValidationInfo) -> Any:
        if not isinstance(value, dict):
            return value
        try:
            config = registry.load(str(value.get("kind"))).Config
        except ConfigError as e:
            raise ValueError(e.what) from e
        return config.model_validate(value)

    return BeforeValidator(validate)


AnyLinker = Annotated[SerializeAsAny[LinkerConfig], _of_kind(LINKERS)]
AnyDetector = Annotated[SerializeAsAny[DetectorConfig], _of_kind(DETECTORS)]


class PipelineOptions(Strict):
    """The options of a pipeline. They are declared here and nowhere else.

    Keys of `pipeline.json` and of a recipe's table `pipeline`, keywords of `build_pipeline` and `Pipeline`, and command-line
    options all follow from these fields.
    """

    types: tuple[str, ...] = Field(
        default=(), description="Only concepts of these semantic groups or types, separated by commas."
    )
    concepts: tuple[str, ...] = Field(default=(), description="Only the concepts with these ids.")
    restrict: bool = Field(
        default=False,
        description="With --types or --concepts: ignore all other concepts. By default they compete, and a mention whose best "
        "concept is one of them is left unlinked (NIL).",
    )
    prefer: tuple[str, ...] = Field(
        default=(),
        description="Vocabularies that win ties, in this order, separated by commas: mesh,mondo. By default the order of the "
        "recipe.",
    )
    threshold: float | None = Field(
        default=None, allow_inf_nan=False, description="Minimum score; below it a mention is left unlinked (NIL)."
    )
    top_k: int = Field(default=10, ge=1, le=1000, description="Maximum number of candidates per mention.")
    assertion: bool = Field(
        default=False,
        description="Mark mentions that are negated, possible, historical, hypothetical or about a family member (NegEx, "
        "ConText). No link is dropped.",
    )

    def option_values(self) -> dict[str, Any]:
        """Return the value of each option by name.

        >>> PipelineOptions(threshold=0.5).option_values()["threshold"]
        0.5
        """
        return {name: getattr(self, name) for name in PipelineOptions.model_fields}

    def non_default_options(self) -> dict[str, Any]:
        """Return the options that differ from their defaults, by name.

        >>> PipelineOptions(threshold=0.5, top_k=10).non_default_options()
        {'threshold': 0.5}
        """
        defaults = {name: info.get_default() for name, info in PipelineOptions.model_fields.items()}
        return {name: value for name, value in self.option_values().items() if value != defaults[name]}


class PipelineComponents(Strict):
    """The detector and the linker of a pipeline. Without a detector, mentions must be annotated."""

    detector: AnyDetector | None
    linker: AnyLinker

    def references(self) -> list[ModelReference]:
        """Return the references to models, those of nested components included."""
        found: list[ModelReference] = []

        def note(reference: ModelReference) -> ModelReference:
            found.append(reference)
            return reference

        self.with_references(note)
        return found

    def with_references(self, change: Callable[[ModelReference], ModelReference]) -> Self:
        """Return the same with every reference to a model changed."""
        detector = self.detector and self.detector.with_references(change)
        return self.model_copy(update={"detector": detector, "linker": self.linker.with_references(change)})


class PipelineDesign(PipelineOptions, PipelineComponents):
    """All that a user decides about a pipeline; a recipe's table `pipeline` is one."""


class _Built(Strict):
    """What the building of a pipeline adds. `onym` is the version that built it."""

    format: Literal[2] = FORMAT
    onym: str
    kb: Reference


class PipelineConfig(PipelineDesign, _Built):
    """A whole pipeline, as `pipeline.json` has it.

    `calibration` gives links their confidence, `term_calibration` those of terms without a text; `onym calibrate` fits both.
    """

    plug_ins: tuple[PlugIn, ...] = ()
    calibration: FittedCalibration | None = None
    term_calibration: FittedCalibration | None = None

    def with_calibration(self, fitted: FittedCalibration) -> PipelineConfig:
        """Return the same configuration with a calibration of texts, or of terms."""
        return self.model_copy(update={"term_calibration" if fitted.mentions == "terms" else "calibration": fitted})


def find_plug_ins(*parts: LinkerConfig | DetectorConfig | None) -> tuple[PlugIn, ...]:
    """Return the packages of the parts that are not Onym's own.

    >>> from onym.linkers import linker_config
    >>> find_plug_ins(linker_config("exact"), None)
    ()
    """
    registries = [LINKERS if isinstance(part, LinkerConfig) else DETECTORS for part in parts if part is not None]
    found = [registry.part(part.kind) for registry, part in zip(registries, filter(None, parts), strict=True)]
    return tuple(
        PlugIn(kind=part.kind, name=part.name, package=part.package, version=part.version)
        for part in found
        if not part.is_built_in
    )


def require_plug_ins(values: dict[str, Any], where: str) -> None:
    """Refuse a pipeline one of whose plug-ins is not installed, before its parts are read."""
    for named in _plug_ins(values.get("plug_ins")):
        registry = LINKERS if named.kind == LINKERS.kind else DETECTORS
        if named.name not in registry.names:
            what = f"the {named.kind} {named.name!r} comes from {named.package} {named.version}, which is not installed"
            raise IntegrityError("plug-in-missing", what, where=where, fix=f"pip install {named.package}=={named.version}")


def _plug_ins(value: object) -> list[PlugIn]:
    """Parse the plug-in list; invalid entries are rejected later by full validation."""
    try:
        return [PlugIn.model_validate(each) for each in value] if isinstance(value, list) else []
    except ValidationError:
        return []
