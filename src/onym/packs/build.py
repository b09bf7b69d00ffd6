"""Builds packs: a pipeline with all files that it refers to, as one archive. Builds are reproducible byte for byte.

Derived data that the pipeline uses, such as TF-IDF counts, name tables, indexes and tries, is included, so that the first call
is fast.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

from onym._version import __version__
from onym.datasets.training import NOT_SHIPPED
from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.methods.dense import linker as dense
from onym.methods.dense.index.build import open_derived_index_artefact
from onym.methods.dense.index.kinds import compact_kind
from onym.methods.trees.memory import open_memory
from onym.models.opening import open_encoder
from onym.models.tensors import is_quantized, write_quantized
from onym.packs.archive import CARD, LICENCES, PackedKb, PackName, PackRecord, PackWriter, whole_pack
from onym.packs.archive import FILE as RECORD
from onym.packs.card import pack_card, pack_licences
from onym.packs.licences import describe_sources, find_restricted, find_restricted_ids, find_undeclared, value_for
from onym.packs.locate import KB, PACK_ENDING, locate, read_pipeline
from onym.packs.provenance import NOT_STATED, OWN_HEADING, FileDigest, PackedCorpus, PackedSource
from onym.packs.recipe import ATTRIBUTION
from onym.parts import ModelReference, OpenContext, PartConfig
from onym.pipeline.config import FILE as PIPELINE
from onym.pipeline.config import PipelineConfig, Reference
from onym.pipeline.folder import open_pipeline
from onym.store.archive import Content
from onym.store.artefact import POINTER, FileEntry, Manifest
from onym.store.derived import collect_derived
from onym.store.files.stream import read_regular
from onym.store.hidden import scratch_folder
from onym.store.limits import DEFAULT_LIMITS
from onym.store.models import find_model_file, folder_digest, model_files, read_model_json, read_small
from onym.store.output import require_file
from onym.types import Document


@contextmanager
def compress_pipeline(config: PipelineConfig, base: Path, context: OpenContext) -> Iterator[PipelineConfig]:
    """Yield a configuration with compressed dense linkers, for the pipeline in `base`. Their files exist only in the block."""
    kb = KnowledgeBase.open(base / config.kb.path, verify=context.verify, prefer=config.prefer)
    with scratch_folder() as folder:

        def smaller(part: PartConfig) -> PartConfig:
            return _smaller(part, base, folder, kb, context) if isinstance(part, dense.DenseLinkerConfig) else part

        found = config.model_copy(update={"linker": config.linker.with_parts(smaller)})
        if found == config:
            what = "there is nothing to compress: the pipeline has no dense linker"
            raise ConfigError("config-invalid", what, where=str(base), fix="drop --compress")
        yield found


def _smaller(
    part: dense.DenseLinkerConfig, base: Path, folder: Path, kb: KnowledgeBase, context: OpenContext
) -> dense.DenseLinkerConfig:
    """Quantise the encoder of a dense linker, build its compact index, and return the new configuration."""
    if part.model is None:
        return part
    source = Path(part.model.resolve(base).path)
    small = source if is_quantized(source) else folder / f"{source.name}-int8"
    if not small.exists():
        write_quantized(source, small)
    names_by = open_encoder(source, precision=part.dtype, device=part.device)
    index = compact_kind(len(kb.names))
    open_derived_index_artefact(kb, open_encoder(small), index, names_by=names_by, progress=context.progress)
    reference = ModelReference(path=str(small), digest=folder_digest(small))
    return part.model_copy(update={"model": reference, "index": index, "dtype": "auto", "device": "auto"})


RECORDS = ("training.json", "tokenizer_config.json")
_SHAPE = "config.json"  # must not be rewritten, because the names of indexes contain its digest
_MANIFEST = "manifest.json"
_ABSOLUTE = re.compile(r"(?:~|[A-Za-z]:)?(?:[/\\][^/\\\n]+){2,}[/\\]?")


def make_portable(files: Mapping[str, Path]) -> dict[str, Content]:
    """Return the content of files by name; absolute paths in JSON records are replaced by their last component.

    >>> path = getfixture("tmp_path") / "training.json"
    >>> _ = path.write_text('{"kb": "/home/me/kbs/mesh"}')
    >>> json.loads(make_portable({"training.json": path})["training.json"])
    {'kb': 'mesh'}
    """
    found: dict[str, Content] = dict(files)
    for name, path in files.items():
        if PurePosixPath(name).name in (*RECORDS, _SHAPE):
            values = read_model_json(path)
            if (plain := _plain(values)) != values:
                _require_record(name, path)
                _replace(found, name, json.dumps(plain, indent=1, ensure_ascii=False).encode() + b"\n")
    return found


def _require_record(name: str, path: Path) -> None:
    if PurePosixPath(name).name == _SHAPE:
        fix = "remove the path from this file, and build the pipeline again"
        raise ConfigError("pack-path", "the configuration of a model contains a local path", where=str(path), fix=fix)


def _plain(value: Any) -> Any:
    """Replace each absolute path in a JSON value by its last component."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, str) and _ABSOLUTE.fullmatch(value):
        return PureWindowsPath(value).name  # splits at both / and \
    return value


def _replace(files: dict[str, Content], name: str, data: bytes) -> None:
    """Replace the content of a file. If the file belongs to an artefact, update the manifest and version of the artefact."""
    files[name] = data
    version = PurePosixPath(name).parent
    manifest = files.get(str(version / _MANIFEST))
    if not isinstance(manifest, Path):
        return
    old = Manifest.from_bytes(read_small(manifest), str(manifest))
    entry = FileEntry(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
    new = old.model_copy(update={"files": {**old.files, PurePosixPath(name).name: entry}})
    files[str(version / _MANIFEST)] = new.to_bytes()
    renamed = version.parent / new.digest()[:16]
    for each in [each for each in files if PurePosixPath(each).parent == version]:
        files[str(renamed / PurePosixPath(each).name)] = files.pop(each)
    files[str(version.parent / POINTER)] = renamed.name.encode() + b"\n"


FOLDER = "models"
_RECORD, _MEMORY = "training.json", "memory"
_OWN = ("one's own", "none is stated", NOT_STATED)  # prefixes of licence texts that mean "not stated"


class PackedModels:
    """The models of a pack, by source folder. A model with several references is copied only once."""

    def __init__(self) -> None:
        self._names: dict[tuple[Path, tuple[str, ...] | None], str] = {}

    def add(self, reference: ModelReference, base: Path) -> ModelReference:
        """Add a model and return its reference in the pack. Raise if the model has changed since the pipeline was built."""
        key = Path(reference.resolve(base).path).resolve(), reference.FILES
        name = self._names.setdefault(key, f"{FOLDER}/{self._free_name(key[0].name)}")
        return reference.model_copy(update={"path": name})

    @property
    def folders(self) -> list[Path]:
        """The source folders of the models."""
        return [folder for folder, _ in self._names]

    def files(self) -> Iterator[tuple[str, dict[str, Content]]]:
        """Yield the name of each model in the pack, and its files."""
        for (folder, names), name in self._names.items():
            paths = model_files(folder) if names is None else [find_model_file(folder, each) for each in names]
            own = {path.relative_to(folder).as_posix(): path for path in paths if path is not None}
            yield name, dict(sorted(make_portable(own).items(), key=lambda each: PurePosixPath(each[0])))

    def _free_name(self, name: str) -> str:
        plain = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).lstrip("._-") or "model"
        taken = {each.rpartition("/")[2] for each in self._names.values()}
        others = (f"{plain}-{number}" for number in range(2, len(taken) + 3))
        return next(each for each in (plain, *others) if each not in taken)


def find_corpora(folders: list[Path], licences: Mapping[str, str] | None = None) -> tuple[PackedCorpus, ...]:
    """Return the corpora that the models were trained on, according to their training records."""
    found: dict[str, PackedCorpus] = {}
    for folder in folders:
        for corpus in _corpora(_record(folder)):
            name, licence = str(corpus["name"]), str(corpus.get("licence") or NOT_STATED)
            licence = NOT_STATED if licence.startswith(_OWN) else licence
            licence = value_for(licences or {}, name) or licence
            documents = corpus.get("documents")
            found[name] = PackedCorpus(
                name=name, documents=documents if isinstance(documents, int) else 0, licence=licence[:1_000]
            )
    return tuple(found[name] for name in sorted(found))


def find_restricted_models(folders: list[Path]) -> list[str]:
    """Return the reasons why models may not be redistributed: restricted corpora, or ids of restricted vocabularies."""
    found = []
    for folder in folders:
        record = _record(folder)
        names = sorted(str(corpus["name"]) for corpus in _corpora(record))
        found += [f"trained on {name}" for name in names if name.startswith(NOT_SHIPPED)]
        if _is_private(record):
            found.append(f"trained on private data ({', '.join(names)})")
        found += [f"annotations with ids of {title}" for title in _find_restricted_ids(folder)]
    return list(dict.fromkeys(found))


def _find_restricted_ids(folder: Path) -> list[str]:
    if not (folder / _MEMORY / POINTER).is_file():
        return []
    return find_restricted_ids(open_memory(folder / _MEMORY).concepts)


def _record(folder: Path) -> dict[str, Any]:
    path = find_model_file(folder, _RECORD)
    found = read_model_json(path) if path else {}
    return found if isinstance(found, dict) else {}


def _corpora(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = record.get("corpora") or [record.get("corpus")]
    return [each for each in found if isinstance(each, dict) and "name" in each] if isinstance(found, list) else []


def _is_private(record: Mapping[str, Any]) -> bool:
    config = record.get("config")
    data = config.get("data") if isinstance(config, dict) else None
    return isinstance(data, dict) and bool(data.get("private"))


_PROBE = tuple(Document(str(number), "Fever.") for number in range(16))  # enough documents to build every lazy cache
_NO_FILE = FileDigest(bytes=0, sha256="0" * 64)


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
    """Write a pipeline as a pack; `name` defaults to the file name.

    Vocabularies and annotations that may not be redistributed are rejected, unless the pack is `private`. `releases` and
    `licences` map names of sources or corpora to a release or licence that Onym cannot detect. `compress` stores the encoders
    of dense linkers in int8 and their indexes as codes only, which changes scores slightly.

    >>> folder = getfixture("tmp_path")
    >>> build_pack("starter", folder / "starter.onymp").sources[0].release
    '2024'
    """
    output = require_pack_output(Path(output), force=force)
    named = PackName.of({"name": name or output.name.removesuffix(PACK_ENDING).lower(), "version": version})
    base, config = locate(pipeline), read_pipeline(pipeline)
    context = context or OpenContext()
    stated = _Stated(named, private, releases or {}, licences or {})
    draft = _draft(config, base, stated, context)
    with compress_pipeline(config, base, context) if compress else nullcontext(config) as parts:
        kb, derived = _open_all(parts, base, context)
        models = PackedModels()
        packed = _refer(parts, lambda reference: models.add(reference, base))
        with whole_pack(output, force=force) as pack:
            _write_kb(pack, kb, derived)
            packed = _write_models(pack, models, packed)
            pack.add(PIPELINE, packed.model_dump_json(indent=1).encode() + b"\n")
            pack.add(CARD, pack_card(draft, packed).encode())
            pack.add(LICENCES, pack_licences(draft, _own_licences(base)).encode())
            record = PackRecord.of({**dict(draft), "files": pack.files})
            pack.add_record(record)
    return record


def require_pack_output(path: Path, *, force: bool = False) -> Path:
    """Return the output path of a pack; raise ConfigError if it cannot be written or does not end in .onymp.

    >>> require_pack_output(Path("diseases.zip"))
    Traceback (most recent call last):
    onym.errors.ConfigError: [config-invalid] the name of a pack must end in .onymp...
    """
    require_file(path, force=force)
    if path.suffix != PACK_ENDING:
        what = f"the name of a pack must end in {PACK_ENDING}"
        raise ConfigError("config-invalid", what, fix=f"use -o {path.stem}{PACK_ENDING}")
    return path


class _Stated(NamedTuple):
    """User-provided metadata of a pack."""

    named: PackName
    private: bool
    releases: Mapping[str, str]
    licences: Mapping[str, str]


def _draft(config: PipelineConfig, base: Path, stated: _Stated, context: OpenContext) -> PackRecord:
    """Return the record of a pack, whose list of files is filled in later; raise ConfigError if it may not be redistributed."""
    kb, models = KnowledgeBase.open(base / config.kb.path, verify=context.verify), PackedModels()
    _refer(config, lambda reference: models.add(reference, base))
    sources = describe_sources(kb, stated.releases, stated.licences)
    corpora = find_corpora(models.folders, stated.licences)
    _require_known({**stated.releases, **stated.licences}, sources, corpora)
    undeclared = find_undeclared(kb, stated.licences)
    unknown = (f"{name} (unknown vocabulary, no licence stated)" for name in undeclared)
    restricted = (*find_restricted(kb), *unknown, *find_restricted_models(models.folders))
    if restricted and not stated.private:
        what = f"these sources may not be redistributed: {', '.join(restricted)}"
        fix = f'; or state the licence with --licence "{undeclared[0]}=..."' if undeclared else ""
        raise ConfigError("pack-restricted", what, where=str(base), fix=f"add --private and do not share the pack{fix}")
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
    """Open a pipeline and link some texts. Return its knowledge base, and the folders of derived data that were used."""
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
    """Write all models, and return the configuration with their digests in the pack."""
    digests = {name: pack.add_model(name, files) for name, files in models.files()}
    return _refer(config, lambda reference: reference.model_copy(update={"digest": digests[reference.path]}))


def _refer(config: PipelineConfig, change: Callable[[ModelReference], ModelReference]) -> PipelineConfig:
    """Return a configuration with `change` applied to the model references, and with the path of the KB in the pack."""
    kb = Reference(path=KB, digest=config.kb.digest)
    return config.with_references(change).model_copy(update={"kb": kb})


def _require_known(stated: Mapping[str, str], sources: tuple[PackedSource, ...], corpora: tuple[PackedCorpus, ...]) -> None:
    """Raise ConfigError if a release or licence is stated for an unknown source or corpus, which is probably a typo."""
    known = {name for each in sources for name in (each.name, each.vocabulary) if name} | {each.name for each in corpora}
    folded = {each.casefold() for each in known}
    if unknown := [each for each in stated if each.casefold() not in folded]:
        what = f"there is no source or corpus named {unknown[0]!r}"
        raise ConfigError("config-invalid", what, fix=f"use one of {', '.join(sorted(known))}")


def _own_licences(base: Path) -> str:
    """Return the licence page in the folder of the pipeline: its own, or the one of its recipe; empty if missing."""
    path = next((base / name for name in (LICENCES, ATTRIBUTION) if (base / name).is_file()), None)
    if path is None:
        return ""
    text = read_regular(path, DEFAULT_LIMITS.model_json_bytes).decode("utf-8", "replace")
    # the page of an installed recipe has other sections, too, which are generated again
    return text.partition(OWN_HEADING)[2] if (base / RECORD).is_file() else text
