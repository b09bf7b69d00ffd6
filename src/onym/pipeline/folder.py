"""A pipeline as a folder: `pipeline.json`, which names the knowledge base and the models by path and digest.

They are referred to, not copied: a knowledge base is kept once, with its tries and indexes, whatever the number of pipelines
over it. What lies inside the pipeline's folder is named relative to it, so that such a folder can be moved whole.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Sequence
from pathlib import Path

from pydantic import ValidationError

from onym._version import __version__
from onym.detect import detector_config, open_detector
from onym.detect.base import DetectorConfig
from onym.errors import InputError, IntegrityError
from onym.kb import KnowledgeBase
from onym.kb.masks import select_concepts
from onym.linkers import linker_config, open_linker
from onym.linkers.base import LinkerConfig
from onym.parts import ModelReference, OpenContext, PartConfig, require_digest, written_path
from onym.pipeline.config import FILE, FORMAT, FittedCalibration, PipelineConfig, Reference, plug_ins_of, require_plug_ins
from onym.pipeline.pipeline import Pipeline
from onym.store.models import read_small
from onym.store.output import require_file, whole_file

_log = logging.getLogger("onym.pipeline")


def build_pipeline(
    kb: Path | str,
    folder: Path | str,
    *,
    linker: LinkerConfig | str = "exact",
    detector: DetectorConfig | str | None = "dictionary",
    types: Collection[str] = (),
    concepts: Collection[str] = (),
    restrict: bool = False,
    prefer: Sequence[str] = (),
    threshold: float | None = None,
    top_k: int = 10,
    assertion: bool = False,
    force: bool = False,
    context: OpenContext | None = None,
) -> Pipeline:
    """Write a pipeline's folder, and open it: what cannot be opened is not written.

    The folder may hold a knowledge base and models already. `linker` and `detector` are configurations, or short names;
    without a detector, mentions must be annotated. Of concepts with equal scores, those of vocabularies in `prefer` come first.
    With `assertion`, links say what the text asserts of their mentions.

    >>> folder = getfixture("tmp_path") / "pipeline"
    >>> build_pipeline(getfixture("tiny_kb"), folder).link("fever").links[0].concept_id
    'mesh:D005334'
    """
    folder, context = Path(folder), context or OpenContext()
    require_file(folder / FILE, force=force)
    linker = linker_config(linker) if isinstance(linker, str) else linker
    detector = detector_config(detector) if isinstance(detector, str) else detector

    def pin(reference: ModelReference) -> ModelReference:
        return reference.pinned(folder, context)

    config = PipelineConfig.of(
        {
            "onym": __version__,
            "kb": Reference(path=written_path(Path(kb), folder), digest=KnowledgeBase.open(kb).digest),
            "detector": detector and detector.with_references(pin),
            "linker": linker.with_references(pin),
            "types": tuple(types),
            "concepts": tuple(concepts),
            "restrict": restrict,
            "prefer": tuple(prefer),
            "threshold": threshold,
            "top_k": top_k,
            "assertion": assertion,
            "plug_ins": plug_ins_of(linker, detector),
        }
    )
    pipeline = open_pipeline(config, folder, context)
    _write(config, folder, force=force)
    return pipeline


def store_calibration(folder: Path | str, fitted: FittedCalibration) -> None:
    """Write a calibration into a pipeline's folder, instead of the one of its kind that was there: of texts, or of terms."""
    _write(read_folder(Path(folder), str(folder)).with_calibration(fitted), Path(folder), force=True)


def store_threshold(folder: Path | str, threshold: float) -> None:
    """Write a threshold into a pipeline's folder: mentions with a lower score are left unlinked."""
    _write(read_folder(Path(folder), str(folder)).model_copy(update={"threshold": threshold}), Path(folder), force=True)


def _write(config: PipelineConfig, folder: Path, *, force: bool) -> None:
    with whole_file(folder / FILE, force=force) as file:
        file.write(config.model_dump_json(indent=1).encode() + b"\n")


def read_folder(folder: Path, name: str = "") -> PipelineConfig:
    """Return what a pipeline's folder says, without opening anything that it refers to; `name` is what the user called it."""
    path = folder / FILE
    if not path.is_file():
        fix = "build one with onym pipeline build, or name the starter, which comes with Onym"
        raise InputError("pipeline-missing", "there is no pipeline in the folder", where=name or str(folder), fix=fix)
    try:
        values = json.loads(read_small(path))
        _require_format(values, path)
        require_plug_ins(values, str(path))
        return PipelineConfig.model_validate_json(json.dumps(values))
    except ValidationError as e:
        first = e.errors(include_input=False)[0]
        what = f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}"
        raise InputError("pipeline-malformed", what, where=str(path), fix="build the pipeline again") from e
    except (ValueError, RecursionError, AttributeError) as e:
        raise InputError("pipeline-malformed", "not a JSON object", where=str(path), fix="build the pipeline again") from e


def _require_format(values: dict[str, object], path: Path) -> None:
    if values.get("format") != FORMAT:
        what = f"format {values.get('format')!r}, while this Onym reads format {FORMAT}"
        raise IntegrityError("pipeline-version", what, where=str(path), fix="build the pipeline again")


def open_pipeline(config: PipelineConfig, folder: Path, context: OpenContext | None = None) -> Pipeline:
    """Open what a configuration names; `folder` is what its paths are relative to."""
    context = context or OpenContext()
    kb = KnowledgeBase.open(folder / config.kb.path, verify=context.verify, prefer=config.prefer)
    require_digest(config.kb.path, config.kb.digest, kb.digest, folder)
    only = select_concepts(kb, config.types, config.concepts)

    def resolve(reference: ModelReference) -> ModelReference:
        return reference.resolved(folder)

    linker = open_linker(config.linker.with_references(resolve), kb, context)
    found = config.detector
    detector = None if found is None else open_detector(found.with_references(resolve), kb, context, only=only)
    _log.info("opened %s: detector %s, linker %s", folder, found.kind if found else "none", config.linker.kind)
    return Pipeline(
        linker,
        detector,
        only=only,
        restrict=config.restrict,
        threshold=config.threshold,
        top_k=config.top_k,
        assertion=config.assertion,
        calibration=config.calibration,
        term_calibration=config.term_calibration,
    )


def describe(config: PipelineConfig) -> list[tuple[str, str]]:
    """Return what a configuration says, as rows for people: everything that is not as it is by default.

    >>> kb = Reference(path="/kbs/mesh", digest="ab12")
    >>> describe(PipelineConfig(onym="0.1.0", kb=kb, detector=None, linker=linker_config("exact"), threshold=0.5))
    [('kb', '/kbs/mesh (ab12)'), ('detector', 'none'), ('linker', 'exact'), ('threshold', '0.5'), ('built by', 'onym 0.1.0')]
    """
    rows: list[tuple[str, object]] = [("kb", config.kb), ("detector", config.detector.kind if config.detector else "none")]
    rows += [(f"detector {name}", value) for name, value in _said(config.detector)]
    rows += [("linker", config.linker.kind), *_said(config.linker)]
    rows += [("types", ", ".join(config.types) or None), ("concepts", len(config.concepts) or None)]
    rows += [
        ("restrict", "yes" if config.restrict else None),
        ("prefer", ", ".join(config.prefer) or None),
        ("threshold", config.threshold),
        ("assertion", "yes" if config.assertion else None),
        ("calibrated on", _shown_calibration(config.calibration)),
        ("terms calibrated on", _shown_calibration(config.term_calibration)),
    ]
    rows += [("plug-in", f"{each.kind} {each.name} of {each.package} {each.version}") for each in config.plug_ins]
    rows.append(("built by", f"onym {config.onym}"))
    return [(name, _shown(value)) for name, value in rows if value is not None]


def _shown_calibration(fitted: FittedCalibration | None) -> str | None:
    if fitted is None:
        return None
    quality = fitted.calibration.quality
    figures = f"{quality.answers:,} answers, {100 * quality.accuracy:.1f} % right, ECE {quality.ece:.3f}"
    return f"{fitted.dataset} ({fitted.split}): {figures}"


def _said(config: PartConfig | None) -> list[tuple[str, object]]:
    """Return what a part was told that is not its default; the parts of a part under their own names."""
    rows: list[tuple[str, object]] = []
    for name, info in type(config).model_fields.items() if config else ():
        value = getattr(config, name)
        if isinstance(value, PartConfig):
            rows += [(f"{name} {inner}", each) for inner, each in _said(value)]
        elif name != "kind" and value != info.get_default(call_default_factory=True):
            rows.append((name, value))
    return rows


def _shown(value: object) -> str:
    return f"{value.path} ({value.digest})" if isinstance(value, Reference | ModelReference) else str(value)
