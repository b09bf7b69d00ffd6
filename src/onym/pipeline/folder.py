"""Pipeline folders: `pipeline.json`, which refers to the knowledge base and the models by path and digest.

Nothing is copied, so that many pipelines can share one knowledge base with its tries and indexes. Paths inside the pipeline's
folder are relative, so that the folder can be moved as a whole.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path

from pydantic import ValidationError

from onym._version import __version__
from onym.errors import InputError, IntegrityError
from onym.kb import KnowledgeBase
from onym.kb.ranking import select_concepts
from onym.methods import detector_config, linker_config, open_detector, open_linker
from onym.methods.base import LinkerConfig
from onym.methods.detector import DetectorConfig
from onym.parts import ModelReference, OpenContext, PartConfig, relative_path, require_digest
from onym.pipeline.component import Component, ComponentConfig, component_config
from onym.pipeline.config import (
    FILE,
    FORMAT,
    FittedCalibration,
    PipelineConfig,
    PipelineOptions,
    Reference,
    digest_of,
    find_plug_ins,
    require_plug_ins,
)
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
    options: PipelineOptions | None = None,
    components: Sequence[ComponentConfig | str] = (),
    force: bool = False,
    context: OpenContext | None = None,
) -> Pipeline:
    """Open a new pipeline and write its folder. If the pipeline cannot be opened, nothing is written.

    The folder may contain the knowledge base and models. `linker`, `detector` and `components` are configurations or short
    names; if `detector` is None, mentions must be annotated.

    >>> folder = getfixture("tmp_path") / "pipeline"
    >>> pipeline = build_pipeline(getfixture("tiny_kb"), folder, options=PipelineOptions(top_k=3))
    >>> pipeline.link("fever").links[0].concept_id
    'mesh:D005334'
    """
    folder, context = Path(folder), context or OpenContext()
    require_file(folder / FILE, force=force)
    linker = linker_config(linker) if isinstance(linker, str) else linker
    detector = detector_config(detector) if isinstance(detector, str) else detector
    chosen = tuple(component_config(each) if isinstance(each, str) else each for each in components)
    config = PipelineConfig.of(
        {
            "onym": __version__,
            "kb": Reference(path=relative_path(Path(kb), folder), digest=KnowledgeBase.open(kb).digest),
            "detector": detector,
            "linker": linker,
            "components": chosen,
            "plug_ins": find_plug_ins(linker, detector, *chosen),
            **(options or PipelineOptions()).option_values(),
        }
    ).with_references(lambda reference: reference.pin(folder, context))
    pipeline = open_pipeline(config, folder, context)
    _write(config, folder, force=force)
    return pipeline


def store_calibration(folder: Path | str, fitted: FittedCalibration) -> None:
    """Store a calibration in a pipeline's folder. It replaces an earlier calibration for texts, or for terms."""
    _write(read_folder(Path(folder), str(folder)).with_calibration(fitted), Path(folder), force=True)


def store_threshold(folder: Path | str, threshold: float) -> None:
    """Store a threshold in a pipeline's folder: mentions with a lower score are left unlinked."""
    _write(read_folder(Path(folder), str(folder)).model_copy(update={"threshold": threshold}), Path(folder), force=True)


def _write(config: PipelineConfig, folder: Path, *, force: bool) -> None:
    with whole_file(folder / FILE, force=force) as file:
        file.write(config.model_dump_json(indent=1).encode() + b"\n")


def read_folder(folder: Path, name: str = "") -> PipelineConfig:
    """Read the configuration in a pipeline's folder without opening its components; errors show `name` instead of the path."""
    path = folder / FILE
    if not path.is_file():
        fix = "build one with `onym pipeline build`, or use `starter`, which comes with Onym"
        raise InputError("pipeline-missing", "the folder has no pipeline", where=name or str(folder), fix=fix)
    return parse_pipeline(read_small(path), str(path))


def parse_pipeline(data: bytes, where: str) -> PipelineConfig:
    """Parse the content of a `pipeline.json`; `where` is its path, for errors.

    >>> parse_pipeline(b"[]", "pipeline.json")
    Traceback (most recent call last):
    onym.errors.InputError: [pipeline-malformed] not a JSON object...
    """
    try:
        values = json.loads(data)
        _require_format(values, where)
        require_plug_ins(values, where)
        return PipelineConfig.model_validate_json(json.dumps(values))
    except ValidationError as e:
        first = e.errors(include_input=False)[0]
        what = f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}"
        raise InputError("pipeline-malformed", what, where=where, fix="build the pipeline again") from e
    except (ValueError, RecursionError, AttributeError) as e:
        raise InputError("pipeline-malformed", "not a JSON object", where=where, fix="build the pipeline again") from e


def _require_format(values: dict[str, object], where: str) -> None:
    if values.get("format") != FORMAT:
        what = f"pipeline.json has format {values.get('format')!r}, but this version of Onym reads format {FORMAT}"
        fix = "make it anew with the same options: onym get NAME, onym pipeline build or onym train pipeline"
        raise IntegrityError("pipeline-version", what, where=where, fix=fix)


def open_pipeline(config: PipelineConfig, folder: Path, context: OpenContext | None = None) -> Pipeline:
    """Open the pipeline of a configuration; its paths are relative to `folder`."""
    context, stored = context or OpenContext(), digest_of(config)
    kb = KnowledgeBase.open(folder / config.kb.path, verify=context.verify, prefer=config.prefer)
    require_digest(config.kb.path, config.kb.digest, kb.digest, folder)
    only = select_concepts(kb, config)
    # Names outside the branches are detected too, so that "biliary dyskinesia" is not taken for dyskinesia.
    detected = only if config.restrict else select_concepts(kb, config.without_branches())

    config = config.with_references(lambda reference: reference.resolve(folder))
    linker = open_linker(config.linker, kb, context)
    found = config.detector
    detector = None if found is None else open_detector(found, kb, context, only=detected)
    _log.info("opened %s: detector %s, linker %s", folder, found.kind if found else "none", config.linker.kind)
    pipeline = Pipeline(
        linker,
        detector,
        PipelineOptions.of(config.option_values()),
        components=[Component.open(component, kb) for component in config.components],
        only=only,
        calibration=config.calibration,
        term_calibration=config.term_calibration,
    )
    pipeline.reopen = partial(open_again, str(folder.absolute()), stored)
    return pipeline


@lru_cache(4)  # a worker process that receives a pipeline with each of its tasks opens it once
def open_again(folder: str, digest: str) -> Pipeline:
    """Open a pipeline that was sent from another process; raise IntegrityError if its folder has changed since."""
    config = read_folder(Path(folder))
    require_digest(folder, digest, digest_of(config), Path(folder))
    return open_pipeline(config, Path(folder))


def describe(config: PipelineConfig) -> list[tuple[str, str]]:
    """Describe a configuration as (label, value) rows. Options with default values are left out.

    >>> kb = Reference(path="/kbs/mesh", digest="ab12")
    >>> describe(PipelineConfig(onym="0.1.0", kb=kb, detector=None, linker=linker_config("exact"), threshold=0.5))
    [('kb', '/kbs/mesh (ab12)'), ('detector', 'none'), ('linker', 'exact'), ('threshold', '0.5'), ('built by', 'onym 0.1.0')]
    """
    rows: list[tuple[str, object]] = [("kb", config.kb), ("detector", config.detector.kind if config.detector else "none")]
    rows += [(f"detector {name}", value) for name, value in _non_default_options(config.detector)]
    rows += [("linker", config.linker.kind), *_non_default_options(config.linker)]
    rows += [(name, _show_option(name, value)) for name, value in config.non_default_options().items()]
    rows += [("component", component.kind) for component in config.components]
    calibrations = (("calibrated on", config.calibration), ("terms calibrated on", config.term_calibration))
    rows += [(name, _show_calibration(fitted)) for name, fitted in calibrations if fitted]
    rows += [("plug-in", f"{each.kind} {each.name} of {each.package} {each.version}") for each in config.plug_ins]
    rows.append(("built by", f"onym {config.onym}"))
    return [(name, _show(value)) for name, value in rows if value is not None]


def _show_option(name: str, value: object) -> str:
    """Format an option for readers; concepts are only counted, because there may be many."""
    if isinstance(value, tuple):
        return f"{len(value):,}" if name == "concepts" else ", ".join(map(str, value))
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _show_calibration(fitted: FittedCalibration) -> str:
    quality = fitted.calibration.quality
    figures = f"{quality.answers:,} answers, {100 * quality.accuracy:.1f} % right, ECE {quality.ece:.3f}"
    return f"{fitted.dataset} ({fitted.split}): {figures}"


def _non_default_options(config: PartConfig | None) -> list[tuple[str, object]]:
    """Return the non-default options of a component, including those of nested components."""
    rows: list[tuple[str, object]] = []
    for name, info in type(config).model_fields.items() if config else ():
        value = getattr(config, name)
        if isinstance(value, PartConfig):
            rows += [(f"{name} {inner}", each) for inner, each in _non_default_options(value)]
        elif isinstance(value, tuple) and value and all(isinstance(each, PartConfig) for each in value):
            rows.append((name, ", ".join(part.kind for part in value)))
            rows += [(f"{part.kind} {inner}", each) for part in value for inner, each in _non_default_options(part)]
        elif name != "kind" and value != info.get_default(call_default_factory=True):
            rows.append((name, value))
    return rows


def _show(value: object) -> str:
    return f"{value.path} ({value.digest})" if isinstance(value, Reference | ModelReference) else str(value)
