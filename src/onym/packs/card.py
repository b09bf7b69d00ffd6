"""The card of a pack, as Markdown with the front matter of a model card, and the page of its licences."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from onym.packs.archive import LICENCES, NOT_STATED, PackRecord
from onym.pipeline.config import FittedCalibration, PipelineConfig

OWN_HEADING = "## As the pipeline states"
_TAGS = ("onym", "entity-linking", "biomedical", "named-entity-recognition")
_PRIVATE = "This pack is private: it may not be passed on."


def card(record: PackRecord, config: PipelineConfig, results: Sequence[Mapping[str, Any]] = ()) -> str:
    """Return the card of a pack; `results` are entries of a `model-index`."""
    lines = [
        "---",
        *front_matter(record, results),
        "---",
        f"# {record.name}",
        "",
        *([f"**{_PRIVATE}** It holds: {', '.join(_cell(each) for each in record.restricted) or 'what its owner marked'}.", ""]
          if record.private else []),
        f"A pipeline of Onym for biomedical entity linking, version {record.version}.",
        "",
        "```python",
        "import onym",
        "",
        f'pipeline = onym.load("{record.name}.onymp")',
        'pipeline.link("Patients with breast cancer (BC)")',
        "```",
        "",
        f"- Detector: {config.detector.kind if config.detector else 'none: mentions must be annotated'}",
        f"- Linker: {config.linker.kind}",
        f"- Knowledge base: {record.kb.concepts:,} concepts, {record.kb.names:,} names ({record.kb.digest})",
        *([f"- Answers: {', '.join(config.types)}"] if config.types else []),
        *_calibrated("Confidence", config.calibration),
        *_calibrated("Confidence of terms", config.term_calibration),
        *(f"- Plug-in: {each.kind} {each.name} of {each.package} {each.version}" for each in config.plug_ins),
        f"- Built by: Onym {record.onym}",
        "",
        *_sources(record),
        *_corpora(record),
        f"Licences and attributions are in {LICENCES}.",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def front_matter(record: PackRecord, results: Sequence[Mapping[str, Any]] = ()) -> list[str]:
    """Return the lines of YAML at the beginning of a card. Values are written as JSON, which is YAML as well."""
    values: dict[str, Any] = {
        "library_name": "onym",
        "license": "other",
        "license_name": "see-license-md",
        "license_link": LICENCES,
        "language": ["en"],
        "pipeline_tag": "token-classification",
        "tags": [*_TAGS, *(["private"] if record.private else [])],
    }
    if results:
        values["model-index"] = [{"name": record.name, "results": list(results)}]
    return [f"{key}: {json.dumps(value)}" for key, value in values.items()]


def licences_page(record: PackRecord, own: str = "") -> str:
    """Return the page of licences: what is known of each source and corpus, and what the pipeline itself says."""
    lines = [f"# Licences of {record.name}", "", "The pack is data. It is not under the licence of Onym's code.", ""]
    lines += ["## Knowledge base", ""]
    for source in record.sources:
        vocabulary = f" ({_cell(source.vocabulary)})" if source.vocabulary not in ("", source.name) else ""
        lines.append(
            f"- **{_cell(source.name)}**{vocabulary}, release {_cell(source.release)}. Licence: {_cell(source.licence)}"
        )
    lines += ["", "Names are normalised and indexed; they are kept as the source writes them, too.", ""]
    if record.corpora:
        lines += ["## Training data of the models", ""]
        lines += [f"- **{_cell(each.name)}**. Licence: {_cell(each.licence)}" for each in record.corpora]
        lines.append("")
    if own:
        lines += [OWN_HEADING, "", own.strip(), ""]
    return "\n".join(lines)


def _sources(record: PackRecord) -> list[str]:
    rows = [
        f"| {_cell(each.name)} | {_cell(each.vocabulary or 'own')} | {_cell(each.release)} | {_cell(each.licence)} |"
        for each in record.sources
    ]
    return ["| source | vocabulary | release | licence |", "|---|---|---|---|", *rows, ""]


def _corpora(record: PackRecord) -> list[str]:
    if not record.corpora:
        return []
    rows = [f"| {_cell(each.name)} | {each.documents:,} | {_cell(each.licence)} |" for each in record.corpora]
    return ["| trained on | documents | licence |", "|---|--:|---|", *rows, ""]


def _calibrated(what: str, fitted: FittedCalibration | None) -> list[str]:
    if fitted is None:
        return []
    quality = fitted.calibration.quality
    return [f"- {what}: calibrated on {fitted.dataset} ({fitted.split}), {quality.answers:,} answers, ECE {quality.ece:.3f}"]


def _cell(text: str) -> str:
    """Return a text of somebody else's for a table: on one line, and without marks of Markdown and HTML."""
    plain = " ".join(text.split()) or NOT_STATED
    return "".join(f"\\{each}" if each in "\\|`*_[]<>#" else each for each in plain)
