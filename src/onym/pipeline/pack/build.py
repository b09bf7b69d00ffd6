"""Building a pack: a pipeline with all that it refers to, in one file. The same pipeline gives the same bytes.

What was derived from the knowledge base and is used, such as TF-IDF counts, tables of names, indexes and tries, comes along:
the first answer need not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from onym._version import __version__
from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.pipeline.config import PipelineConfig, Reference
from onym.pipeline.folder import open_pipeline, read_pipeline
from onym.pipeline.pack.card import OWN_HEADING, card, licences_page
from onym.pipeline.pack.compress import compressed
from onym.pipeline.pack.models import PackedModels, packed_corpora, restricted_models
from onym.pipeline.pack.record import CARD, LICENCES, PackedCorpus, PackedFile, PackedKb, PackedSource, PackName, PackRecord
from onym.pipeline.pack.record import FILE as RECORD
from onym.pipeline.pack.vocabularies import packed_sources, restricted_in
from onym.pipeline.pack.writing import PackWriter, whole_pack
from onym.pipeline.packs import FILE as PIPELINE
from onym.pipeline.packs import KB, PACK_ENDING, located
from onym.store.artefact.derived import collect_derived
from onym.store.files.regular import read_regular
from onym.store.limits import DEFAULT_LIMITS
from onym.store.output_path import require_file
from onym.store.parts import ModelReference, OpenContext
from onym.types import Document

_PROBE = tuple(Document(str(number), "Fever.") for number in range(16))  # so many texts that all that is derived is opened
_NO_FILE = PackedFile(bytes=0, sha256="0" * 64)


def build_pack(
    pipeline: Path | str,
    output: Path | str,
    *,
    name: str = "",
    version: str = "1.0.0",
    private: bool = False,
    compress: bool = False,
    releases: Mapping[str, str] | None = None,
    licences: Mapping[str, str] | None = None,
    force: bool = False,
    context: OpenContext | None = None,
) -> PackRecord:
    """Write a pack of a pipeline. Its name is that of the file, unless another is set.

    Vocabularies and annotations that may not be passed on are refused, unless the pack is `private`. `releases` and `licences`
    state, by the name of a source or corpus, what is not known of it. With `compress`, encoders of dense linkers are packed in
    int8, and their indexes as codes alone: scores are slightly other ones.

    >>> folder = getfixture("tmp_path")
    >>> build_pack("starter", folder / "mondo.onymp").sources[0].release
    '2026-05-05'
    """
    output = require_pack_output(Path(output), force=force)
    named = PackName.of({"name": name or output.name.removesuffix(PACK_ENDING).lower(), "version": version})
    base, config = located(pipeline), read_pipeline(pipeline)
    context = context or OpenContext()
    stated = _Stated(named, private, releases or {}, licences or {})
    draft = _draft(config, base, stated, context)
    with compressed(config, base, context) if compress else nullcontext(config) as parts:
        kb, derived = _open_all(parts, base, context)
        models = PackedModels()
        packed = _changed(parts, lambda reference: models.add(reference, base))
        with whole_pack(output, force=force) as pack:
            _write_kb(pack, kb, derived)
            packed = _write_models(pack, models, packed)
            pack.add(PIPELINE, packed.model_dump_json(indent=1).encode() + b"\n")
            pack.add(CARD, card(draft, packed).encode())
            pack.add(LICENCES, licences_page(draft, _own_licences(base)).encode())
            record = PackRecord.of({**dict(draft), "files": pack.files})
            pack.add_record(record)
    return record


def require_pack_output(path: Path, *, force: bool = False) -> Path:
    """Return the path of a pack that is to be written; one that cannot be, or has another ending, is refused.

    >>> require_pack_output(Path("diseases.zip"))
    Traceback (most recent call last):
    onym.errors.ConfigError: [config-invalid] a pack is a file with the ending .onymp...
    """
    require_file(path, force=force)
    if path.suffix != PACK_ENDING:
        what = f"a pack is a file with the ending {PACK_ENDING}"
        raise ConfigError("config-invalid", what, fix=f"-o {path.stem}{PACK_ENDING}")
    return path


class _Stated(NamedTuple):
    """What a person says of a pack."""

    named: PackName
    private: bool
    releases: Mapping[str, str]
    licences: Mapping[str, str]


def _draft(config: PipelineConfig, base: Path, stated: _Stated, context: OpenContext) -> PackRecord:
    """Return the record of a pack without its files; what may not be passed on is refused, before anything is made."""
    kb, models = KnowledgeBase.open(base / config.kb.path, verify=context.verify), PackedModels()
    _changed(config, lambda reference: models.add(reference, base))
    sources = packed_sources(kb, stated.releases, stated.licences)
    corpora = packed_corpora(models.folders, stated.licences)
    _require_known({**stated.releases, **stated.licences}, sources, corpora)
    restricted = (*restricted_in(kb), *restricted_models(models.folders))
    if restricted and not stated.private:
        what = f"this may not be passed on: {', '.join(restricted)}"
        raise ConfigError("pack-restricted", what, where=str(base), fix="add --private, and keep the pack to yourself")
    return PackRecord(
        name=stated.named.name,
        version=stated.named.version,
        onym=__version__,
        private=stated.private,
        restricted=restricted,
        kb=PackedKb(digest=kb.digest, concepts=len(kb), names=len(kb.names)),
        sources=sources,
        corpora=corpora,
        files=dict.fromkeys((CARD, LICENCES), _NO_FILE),
    )


def _open_all(config: PipelineConfig, base: Path, context: OpenContext) -> tuple[KnowledgeBase, list[Path]]:
    """Open a pipeline and link some texts; return its knowledge base, and the folders of what it derives from it."""
    with collect_derived() as derived:
        pipeline = open_pipeline(config, base, context)
        for _ in pipeline.link_many(_PROBE):
            pass
    pipeline.kb.require_intact()
    return pipeline.kb, derived


def _write_kb(pack: PackWriter, kb: KnowledgeBase, derived: list[Path]) -> None:
    pack.add_artefact(KB, kb.folder.parent)
    for name, folder in sorted((f"{KB}/{path.parent.name}/{path.name}", path) for path in derived):
        pack.add_artefact(name, folder)


def _write_models(pack: PackWriter, models: PackedModels, config: PipelineConfig) -> PipelineConfig:
    """Write all models, and return the configuration with their digests as they are in the pack."""
    digests = {name: pack.add_model(name, files) for name, files in models.files()}
    return _changed(config, lambda reference: reference.model_copy(update={"digest": digests[reference.path]}))


def _changed(config: PipelineConfig, change: Callable[[ModelReference], ModelReference]) -> PipelineConfig:
    """Return a configuration with other references to models, and with the knowledge base of the pack."""
    linker = config.linker.with_references(change)
    detector = config.detector and config.detector.with_references(change)
    kb = Reference(path=KB, digest=config.kb.digest)
    return config.model_copy(update={"kb": kb, "linker": linker, "detector": detector})


def _require_known(stated: Mapping[str, str], sources: tuple[PackedSource, ...], corpora: tuple[PackedCorpus, ...]) -> None:
    """Refuse what is stated of a source or a corpus that is not there: it was misspelt."""
    known = {name for each in sources for name in (each.name, each.vocabulary) if name} | {each.name for each in corpora}
    folded = {each.casefold() for each in known}
    if unknown := [each for each in stated if each.casefold() not in folded]:
        what = f"no source or corpus is named {unknown[0]!r}"
        raise ConfigError("config-invalid", what, fix=f"known are {', '.join(sorted(known))}")


def _own_licences(base: Path) -> str:
    """Return what the pipeline's folder itself says of licences."""
    if not (base / LICENCES).is_file():
        return ""
    text = read_regular(base / LICENCES, DEFAULT_LIMITS.model_json_bytes).decode("utf-8", "replace")
    return text.partition(OWN_HEADING)[2] if (base / RECORD).is_file() else text  # the rest of a pack's page is made anew
