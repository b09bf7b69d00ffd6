"""Generates the card of a pack (Markdown with model-card front matter) and its licence page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onym.methods.base import LinkerConfig
from onym.methods.compose.by_type import ByTypeLinkerConfig, normal_type
from onym.methods.compose.several import SeveralDetectorConfig
from onym.methods.variants.naming import is_variant_type
from onym.packs.archive import LICENCES, PackRecord
from onym.packs.provenance import NOT_STATED, licences_page, show
from onym.pipeline.config import FittedCalibration, PipelineConfig
from onym.store.markdown import code, front_matter, page, table

_TAGS = ("onym", "entity-linking", "biomedical", "named-entity-recognition")
_PRIVATE = "This pack is private and may not be redistributed."
_ABOUT = "The pack contains data, which is not covered by the licence of Onym's code."


def pack_card(record: PackRecord, config: PipelineConfig, results: Sequence[Mapping[str, Any]] = ()) -> str:
    """Return the card of a pack; `results` are entries of a `model-index`."""
    blocks = (
        front_matter(card_metadata(record, results)),
        [f"# {record.name}"],
        _private(record),
        [f"An Onym pipeline for biomedical entity linking, version {record.version}."],
        code("python", "import onym", "", f'onym.load("{record.name}.onymp").link("Patients with breast cancer (BC)")'),
        _facts(record, config),
        _types(config),
        _sources(record),
        _corpora(record),
        [f"Licences and attributions are in {LICENCES}."],
    )
    return page(*filter(None, blocks))


def _facts(record: PackRecord, config: PipelineConfig) -> list[str]:
    plug_ins = (f"{each.kind} {each.name} of {each.package} {each.version}" for each in config.plug_ins)
    return [
        f"- Detector: {config.detector.kind if config.detector else 'none: mentions must be annotated'}",
        f"- Linker: {config.linker.kind}",
        f"- Knowledge base: {record.kb.concepts:,} concepts, {record.kb.names:,} names ({record.kb.digest})",
        *([f"- Answers: {show(', '.join(config.types))}"] if config.types else []),
        *_describe_calibration("Confidence", config.calibration),
        *_describe_calibration("Confidence of terms", config.term_calibration),
        *(f"- Plug-in: {show(each)}" for each in plug_ins),
        f"- Built by: Onym {record.onym}",
    ]


def _types(config: PipelineConfig) -> list[str]:
    """Return a table with a row per type of mentions: its detectors, its linker, and the error of its confidence."""
    fitted = config.calibration.by_type if config.calibration else {}
    linkers = _linkers_by_type(config.linker)
    if not linkers:
        return []
    own = {normal_type(name): calibration.quality for name, calibration in fitted.items()}
    rows = []
    for name, linker in linkers.items():
        quality = own.get(normal_type(name))
        ece = f"{quality.ece:.3f}, of {quality.answers:,} answers" if quality else "that of all types" if fitted else "-"
        rows.append((name, ", ".join(_detectors_of(config, name)) or "-", linker, ece))
    return table(dict.fromkeys(("type", "detector", "linker", "calibration error"), "---"), rows)


def _linkers_by_type(linker: LinkerConfig) -> dict[str, str]:
    if not isinstance(linker, ByTypeLinkerConfig):
        return {}
    return {name: part.kind for part, names in zip(linker.parts, linker.types, strict=True) for name in names}


def _detectors_of(config: PipelineConfig, name: str) -> list[str]:
    """Return the detectors that find mentions of a type: those for this type, and those without types."""
    detector = config.detector
    parts = detector.parts if isinstance(detector, SeveralDetectorConfig) else [detector] if detector else []
    if is_variant_type(name):
        return [part.kind for part in parts if part.kind == "variants"]
    wanted = [(part.kind, getattr(part, "types", None)) for part in parts if part.kind != "variants"]
    return [kind for kind, types in wanted if not types or normal_type(name) in map(normal_type, types.split(","))]


def pack_licences(record: PackRecord, own: str = "") -> str:
    """Return the licence page of a pack; `own` is the text that the pipeline itself provides."""
    return licences_page(record.name, _ABOUT, record.provenance, own)


def card_metadata(record: PackRecord, results: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Return the front matter of a card."""
    values: dict[str, Any] = {
        "library_name": "onym",
        "license": "other",
        "license_name": "see-license-md",
        "license_link": LICENCES,
        "language": ["en"],
        "pipeline_tag": "token-classification",
        "tags": [*_TAGS, *(["private"] if record.private else [])],
    }
    return values | ({"model-index": [{"name": record.name, "results": list(results)}]} if results else {})


def _private(record: PackRecord) -> list[str]:
    if not record.private:
        return []
    return [f"**{_PRIVATE}** It holds: {', '.join(map(show, record.restricted)) or 'data marked private by its owner'}."]


def _sources(record: PackRecord) -> list[str]:
    header = dict.fromkeys(("source", "vocabulary", "release", "licence"), "---")
    rows = [(each.name, each.vocabulary or "own", each.release, each.licence) for each in record.sources]
    return table(header, ([cell.strip() or NOT_STATED for cell in row] for row in rows))


def _corpora(record: PackRecord) -> list[str]:
    if not record.corpora:
        return []
    header = {"trained on": "---", "documents": "--:", "licence": "---"}
    rows = [(each.name, f"{each.documents:,}", each.licence) for each in record.corpora]
    return table(header, ([cell.strip() or NOT_STATED for cell in row] for row in rows))


def _describe_calibration(what: str, fitted: FittedCalibration | None) -> list[str]:
    if fitted is None:
        return []
    quality = fitted.calibration.quality
    data = show(f"{fitted.dataset} ({fitted.split})")
    return [f"- {what}: calibrated on {data}, {quality.answers:,} answers, ECE {quality.ece:.3f}"]
