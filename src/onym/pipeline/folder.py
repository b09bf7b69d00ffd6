"""A pipeline as a folder: `pipeline.json`, which names the knowledge base and the models by path and digest.

They are referred to, not copied: a knowledge base is kept once, with its tries and indexes beside it, whatever the number of
pipelines over it. What lies inside the pipeline's folder is named relative to it, so that such a folder can be moved whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from onym import __version__
from onym.detect.base import Detector
from onym.detect.named import DETECTORS, detector_named, detector_of
from onym.errors import ConfigError, InputError, IntegrityError, missing_extra
from onym.kb import KnowledgeBase
from onym.kb.masks import ConceptMask, chosen
from onym.linkers.base import Linker
from onym.linkers.named import LINKERS, LinkerOptions, linker_named
from onym.pipeline.config import (
    DetectorSettings,
    DictionarySettings,
    LinkerSettings,
    ModelDetector,
    NoDetector,
    PipelineSettings,
    Reference,
)
from onym.pipeline.pipeline import Pipeline
from onym.store.model_settings import read_small
from onym.store.models import FETCHED, folder_digest, folder_of
from onym.store.output import whole_file
from onym.text.tokens import FILE as TOKENIZER

if TYPE_CHECKING:
    from onym.encoders.collective import Collective

FILE = "pipeline.json"
_MODELS = ("model", "encoder", "tokenizer")
_TOLD = set(LinkerSettings.model_fields) - {"kind", *_MODELS}
_FIX = "build the pipeline again, or bring back what it was built with"


@dataclass(frozen=True, slots=True)
class Choice:
    """What a pipeline is to be made of, by names and paths."""

    detector: str = "dictionary"
    linker: str = "exact"
    options: LinkerOptions = field(default_factory=LinkerOptions)
    types: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    threshold: float | None = None
    nested: bool = False
    detector_model: str = ""


def build_pipeline(kb: Path | str, folder: Path | str, choice: Choice | None = None, *, force: bool = False) -> Pipeline:
    """Write a pipeline's folder, and open it: what cannot be opened is not written.

    The folder may hold a knowledge base and models already.

    >>> folder = getfixture("tmp_path") / "pipeline"
    >>> build_pipeline(getfixture("tiny_kb"), folder).link("fever").links[0].concept_id
    'mesh:D005334'
    """
    folder, choice = Path(folder), choice or Choice()
    settings = PipelineSettings.of(
        {
            "onym": __version__,
            "kb": Reference(path=_written(Path(kb), folder), digest=KnowledgeBase.open(kb).digest),
            "detector": _detector_settings(choice, folder),
            "linker": _linker_settings(choice, folder),
            "types": choice.types,
            "concepts": choice.concepts,
            "threshold": choice.threshold,
        }
    )
    pipeline = opened(settings, folder)
    with whole_file(folder / FILE, force=force) as file:
        file.write(settings.model_dump_json(indent=1).encode() + b"\n")
    return pipeline


def load(folder: Path | str) -> Pipeline:
    """Open a pipeline's folder. What it refers to must be what it was when the pipeline was built.

    >>> folder = getfixture("tmp_path") / "pipeline"
    >>> _ = build_pipeline(getfixture("tiny_kb"), folder)
    >>> load(folder).link("No fever.").links[0].mention.start
    3
    """
    return opened(read_pipeline(folder), Path(folder))


def read_pipeline(folder: Path | str) -> PipelineSettings:
    """Return what a pipeline's folder says, without opening anything that it refers to."""
    path = Path(folder) / FILE
    if not path.is_file():
        fix = "build one with onym pipeline build"
        raise InputError("pipeline-missing", "there is no pipeline in the folder", where=str(folder), fix=fix)
    try:
        return PipelineSettings.model_validate_json(read_small(path))
    except ValidationError as e:
        first = e.errors(include_input=False)[0]
        what = f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}"
        raise InputError("pipeline-malformed", what, where=str(path), fix="build the pipeline again") from e


def described(settings: PipelineSettings) -> list[tuple[str, str]]:
    """Return what settings say, as rows for people: everything that is not as it is by default.

    >>> kb = Reference(path="/kbs/mesh", digest="ab12")
    >>> told = PipelineSettings(onym="0.1.0", kb=kb, detector=NoDetector(), linker=LinkerSettings(), threshold=0.5)
    >>> described(told)
    [('kb', '/kbs/mesh (ab12)'), ('detector', 'none'), ('linker', 'exact'), ('threshold', '0.5'), ('built by', 'onym 0.1.0')]
    """
    linker = settings.linker
    rows: list[tuple[str, object]] = [("kb", settings.kb), ("detector", settings.detector.kind), ("linker", linker.kind)]
    rows.append(("detector's model", getattr(settings.detector, "model", None)))
    rows += [(name, getattr(linker, name)) for name in _MODELS]
    rows += [(name, value) for name, value in linker.model_dump(exclude_defaults=True).items() if name in _TOLD]
    rows += [
        ("types", ", ".join(settings.types)),
        ("concepts", len(settings.concepts) or ""),
        ("threshold", settings.threshold),
    ]
    rows.append(("built by", f"onym {settings.onym}"))
    return [(name, _shown(value)) for name, value in rows if value not in (None, "")]


def _shown(value: object) -> str:
    return f"{value.path} ({value.digest})" if isinstance(value, Reference) else str(value)


def opened(settings: PipelineSettings, folder: Path) -> Pipeline:
    """Open what settings name; `folder` is what their paths are relative to."""
    kb = KnowledgeBase.open(place_of(settings.kb, folder))
    _require_same(settings.kb, kb.digest, folder)
    only = chosen(kb, settings.types, settings.concepts)
    linker = linker_named(settings.linker.kind, kb, _options(settings.linker, folder))
    detector = _detector(settings.detector, linker, only, folder)
    return Pipeline(linker, detector, only=only, threshold=settings.threshold, top_k=settings.top_k)


def _detector(settings: DetectorSettings, linker: Linker, only: ConceptMask | None, folder: Path) -> Detector | None:
    if isinstance(settings, ModelDetector):
        return detector_of(_model(settings.model, linker, folder), threshold=settings.threshold, nested=settings.nested)
    given = settings.config if isinstance(settings, DictionarySettings) else None
    return detector_named(settings.kind, linker.kb, given, only=only)


def _model(reference: Reference, linker: Linker, folder: Path) -> Collective:
    """Return a detector's model; where it is the linker's as well, that very one: a document is then read once for both."""
    place = _require_there(reference, folder, "detector's model", None)
    try:
        from onym.encoders.collective import Collective
    except ImportError as e:
        raise missing_extra("a trained detector", "dense") from e
    shared = getattr(linker, "model", None)
    if isinstance(shared, Collective) and shared.digest == reference.digest:
        return shared
    return Collective.open(place)


def place_of(reference: Reference, folder: Path) -> Path:
    """Return where a reference leads.

    >>> place_of(Reference(path="kb", digest=""), Path("pipeline")).as_posix()
    'pipeline/kb'
    """
    return folder / reference.path


def _detector_settings(choice: Choice, folder: Path) -> DetectorSettings:
    if choice.detector == "dictionary":
        return DictionarySettings(nested=choice.nested)
    if choice.detector == "model":
        found = _reference(choice.detector_model, folder, None, download=choice.options.download)
        if found is None:
            raise ConfigError(
                "model-missing", "a trained detector needs its model", fix="name its folder with --detector-model"
            )
        return ModelDetector(model=found, nested=choice.nested)
    if choice.detector == "none":
        return NoDetector()
    raise ConfigError(
        "detector-unknown", f"no detector is named {choice.detector!r}", fix=f"the names are {', '.join(DETECTORS)}"
    )


def _linker_settings(choice: Choice, folder: Path) -> LinkerSettings:
    if choice.linker not in LINKERS:
        raise ConfigError("linker-unknown", f"no linker is named {choice.linker!r}", fix=f"the names are {', '.join(LINKERS)}")
    options = choice.options
    told = {each.name: getattr(options, each.name) for each in fields(options) if each.name in LinkerSettings.model_fields}
    for name in _MODELS:
        told[name] = _reference(getattr(options, name), folder, _files(name), download=options.download)
    return LinkerSettings.of({"kind": choice.linker, **told})


def _reference(model: str, folder: Path, files: Sequence[str] | None, *, download: bool) -> Reference | None:
    if not model:
        return None
    found = folder_of(model, files or FETCHED, download=download)
    return Reference(path=_written(found, folder), digest=folder_digest(found, files))


def _files(name: str) -> Sequence[str] | None:
    """Return what is needed of a model's folder: of one that only lends its tokenizer, that alone; None is all of it."""
    return (TOKENIZER,) if name == "tokenizer" else None


def _written(path: Path, folder: Path) -> str:
    """Return a path as it is written down: relative to the pipeline's folder where it lies inside it, else absolute."""
    path, folder = path.resolve(), folder.resolve()
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.as_posix()


def _options(settings: LinkerSettings, folder: Path) -> LinkerOptions:
    told: dict[str, Any] = {name: getattr(settings, name) for name in _TOLD}
    for name in _MODELS:
        reference: Reference | None = getattr(settings, name)
        if reference is not None:
            told[name] = str(_require_there(reference, folder, name, _files(name)))
    return LinkerOptions(**told)


def _require_there(reference: Reference, folder: Path, what: str, files: Sequence[str] | None) -> Path:
    place = place_of(reference, folder)
    if not place.is_dir():
        raise InputError("pipeline-missing", f"the {what} of the pipeline is not there", where=str(place), fix=_FIX)
    _require_same(reference, folder_digest(place, files), folder)
    return place


def _require_same(reference: Reference, digest: str, folder: Path) -> None:
    if reference.digest != digest:
        what = f"{reference.path} is not what it was when the pipeline was built"
        raise IntegrityError("pipeline-changed", what, where=str(folder), fix=_FIX)
