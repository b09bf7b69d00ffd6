"""The configuration of a pipeline: its options, its components, and `pipeline.json` (format 3). Unknown keys are rejected.

Each linker and detector has its own configuration class, which the registry finds by the short name in `kind`. Components from
plug-ins are recorded with their package and version.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Literal, Self

from pydantic import Field, ValidationError

from onym.calibrate import Calibration
from onym.config import Strict
from onym.errors import IntegrityError
from onym.kb.ranking import ConceptFilter
from onym.methods.base import AnyLinker, LinkerConfig
from onym.methods.detector import AnyDetector, DetectorConfig
from onym.parts import ModelReference, PartConfig
from onym.pipeline.component import AnyComponent
from onym.registry import COMPONENTS, DETECTORS, LINKERS, Registry

FILE = "pipeline.json"
FORMAT: Literal[3] = 3


class Reference(Strict):
    """A folder that a pipeline needs, with its digest at build time.

    If the folder is inside the pipeline's folder, `path` is relative to it, so that both can be moved together.
    """

    path: str
    digest: str


class PlugIn(Strict):
    """A component that a plug-in provides: its kind and name, and the Python package with its version."""

    kind: str
    name: str
    package: str
    version: str


class FittedCalibration(Strict):
    """A calibration and the dataset split that it was fitted on.

    `mentions` says whether the mentions were annotated (`given`), detected in raw text (`found`), or used without context,
    each surface once, like the cells of a column (`terms`). With several datasets, names and digests are separated by commas.
    `left_out` counts the documents that were excluded, because two datasets share them or they are in a test split. `gold`
    is the number of mentions that should have been linked. `types` are the annotated types that were used; None means all.
    `by_type` has calibrations of their own for some types of mentions.
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
    by_type: dict[str, Calibration] = Field(default_factory=dict, exclude_if=lambda found: not found)


def digest_of(config: Strict) -> str:
    """Return a short digest of a configuration."""
    return hashlib.sha256(config.model_dump_json().encode()).hexdigest()[:16]


class PipelineOptions(ConceptFilter):
    """The options of a pipeline, with the filter of its concepts: one object for every way to ask for answers.

    Each field is a key of `pipeline.json` and of the table `pipeline` of a recipe, and an option of `onym link`, `map`,
    `explain`, `batch plan`, `serve` and `mcp`. There, only the fields that were given change the pipeline
    (`Pipeline.with_options`).
    """

    restrict: bool = Field(
        default=False,
        description="With --types, --concepts, --under or --not-under: ignore all other concepts. By default, all concepts "
        "compete, and a mention whose best concept is filtered out is left unlinked (NIL).",
    )
    prefer: tuple[str, ...] = Field(
        default=(),
        description="Vocabularies that come first, in order of preference, separated by commas: mesh,mondo. They decide what a "
        "name means that several vocabularies have. Default: the concept of which it is the preferred name, then the order in "
        "the recipe.",
    )
    threshold: float | None = Field(
        default=None, allow_inf_nan=False, description="Minimum score; below it a mention is left unlinked (NIL)."
    )
    precision: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        exclude_if=lambda precision: precision is None,
        description="Target precision, such as 0.95, for a calibrated pipeline. Less confident answers are left unlinked "
        "(NIL), and their candidates are kept.",
    )
    coverage: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        exclude_if=lambda coverage: coverage is None,
        description="Target coverage, such as 0.90, for a calibrated pipeline: the smallest set of candidates that contains "
        "the right concept this often (conformal prediction).",
    )
    top_k: int = Field(default=10, ge=1, le=1000, description="Maximum number of candidates per mention.")
    expand_abbreviations: bool = Field(default=True, description="Expand abbreviations that the document defines.")
    assertion: bool = Field(
        default=True,
        description="Whether to mark mentions that are negated, possible, historical, hypothetical or about a family member "
        "(NegEx, ConText), as by default. No link is dropped.",
    )

    def option_values(self) -> dict[str, Any]:
        """Return the value of each option by name.

        >>> PipelineOptions(threshold=0.5).option_values()["threshold"]
        0.5
        """
        return {name: getattr(self, name) for name in PipelineOptions.model_fields}

    def restricted(self) -> PipelineOptions:
        """Return a copy with `restrict`, if it has a filter: for terms, concepts that are not allowed are ignored.

        >>> PipelineOptions(types=("Disease",)).restricted().restrict, PipelineOptions(top_k=3).restricted().restrict
        (True, False)
        """
        has_filter = any(getattr(self, name) for name in ConceptFilter.model_fields)
        return self.model_copy(update={"restrict": True}) if has_filter else self

    def non_default_options(self) -> dict[str, Any]:
        """Return the options that differ from their defaults, by name.

        >>> PipelineOptions(threshold=0.5, top_k=10).non_default_options()
        {'threshold': 0.5}
        """
        defaults = {name: info.get_default() for name, info in PipelineOptions.model_fields.items()}
        return {name: value for name, value in self.option_values().items() if value != defaults[name]}


class PipelineComponents(Strict):
    """The parts of a pipeline. Without a detector, mentions must be annotated. `components` run in this order."""

    detector: AnyDetector | None
    linker: AnyLinker
    components: tuple[AnyComponent, ...] = Field(default=(), exclude_if=lambda components: not components)

    def references(self) -> list[ModelReference]:
        """Return all references to models, including those of nested components."""
        found: list[ModelReference] = []

        def note(reference: ModelReference) -> ModelReference:
            found.append(reference)
            return reference

        self.with_references(note)
        return found

    def with_references(self, change: Callable[[ModelReference], ModelReference]) -> Self:
        """Return a copy with `change` applied to every reference to a model."""
        detector = self.detector and self.detector.with_references(change)
        components = tuple(component.with_references(change) for component in self.components)
        own = {"detector": detector, "linker": self.linker.with_references(change), "components": components}
        return self.model_copy(update=own)


class PipelineDesign(PipelineOptions, PipelineComponents):
    """The part of a pipeline configuration that the user chooses, such as a recipe's table `pipeline`."""


class _Built(Strict):
    """The part of a pipeline configuration that is added at build time. `onym` is the version of Onym that built it."""

    format: Literal[3] = FORMAT
    onym: str
    kb: Reference


class PipelineConfig(PipelineDesign, _Built):
    """The complete configuration of a pipeline: the content of `pipeline.json`.

    `calibration` is for links in texts, `term_calibration` for terms without context; `onym calibrate` fits either.
    """

    plug_ins: tuple[PlugIn, ...] = ()
    calibration: FittedCalibration | None = None
    term_calibration: FittedCalibration | None = None

    def with_calibration(self, fitted: FittedCalibration) -> PipelineConfig:
        """Return a copy with this calibration, which replaces the one for texts or the one for terms."""
        return self.model_copy(update={"term_calibration" if fitted.mentions == "terms" else "calibration": fitted})


_REGISTRIES = {registry.kind: registry for registry in (LINKERS, DETECTORS, COMPONENTS)}


def _registry_of(config: PartConfig) -> Registry:
    if isinstance(config, LinkerConfig):
        return LINKERS
    return DETECTORS if isinstance(config, DetectorConfig) else COMPONENTS


def find_plug_ins(*parts: PartConfig | None) -> tuple[PlugIn, ...]:
    """Return the plug-in packages of the parts of a pipeline, also nested ones, that are not built in.

    >>> from onym.methods import linker_config
    >>> find_plug_ins(linker_config("exact"), None)
    ()
    """
    nested = (each for part in parts if part is not None for each in part.all_parts())
    plug_ins = (part for each in nested if not (part := _registry_of(each).part(each.kind)).is_built_in)
    named = (PlugIn(kind=part.kind, name=part.name, package=part.package, version=part.version) for part in plug_ins)
    return tuple({(each.kind, each.name): each for each in named}.values())


def require_plug_ins(values: dict[str, Any], where: str) -> None:
    """Raise IntegrityError if a plug-in is not installed; called before the components are parsed."""
    for named in _plug_ins(values.get("plug_ins")):
        registry = _REGISTRIES.get(named.kind, DETECTORS)
        if named.name not in registry.names:
            what = f"the {named.kind} {named.name!r} comes from {named.package} {named.version}, which is not installed"
            raise IntegrityError("plug-in-missing", what, where=where, fix=f"pip install {named.package}=={named.version}")


def _plug_ins(value: object) -> list[PlugIn]:
    """Parse the plug-in list. Invalid entries are ignored here, because the full validation rejects them later."""
    try:
        return [PlugIn.model_validate(each) for each in value] if isinstance(value, list) else []
    except ValidationError:
        return []
