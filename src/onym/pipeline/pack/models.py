"""The models that a pipeline refers to, as files of a pack: copied under names of their own, with what they were trained on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from onym.datasets.training import NOT_SHIPPED
from onym.kb.order import iter_prefixes
from onym.linkers._memory import open_memory
from onym.pipeline.pack.portable import portable_files
from onym.pipeline.pack.record import NOT_STATED, PackedCorpus
from onym.pipeline.pack.vocabularies import restricted_prefixes, value_for
from onym.store.archive import Content
from onym.store.model_files import find_model_file, model_files
from onym.store.model_settings import read_model_json
from onym.store.parts import ModelReference

FOLDER = "models"
_RECORD, _MEMORY = "training.json", "memory"
_OWN = ("one's own", "none is stated", NOT_STATED)  # how the licences of corpora begin that nobody has stated


class PackedModels:
    """The models of a pack, by the folders that they are copied from. One that is referred to twice is copied once."""

    def __init__(self) -> None:
        self._names: dict[tuple[Path, tuple[str, ...] | None], str] = {}

    def add(self, reference: ModelReference, base: Path) -> ModelReference:
        """Take a model, which must be what it was when the pipeline was built, and return how the pack refers to it."""
        key = Path(reference.resolved(base).path).resolve(), reference.FILES
        name = self._names.setdefault(key, f"{FOLDER}/{self._free_name(key[0].name)}")
        return reference.model_copy(update={"path": name})

    @property
    def folders(self) -> list[Path]:
        """The folders that they are copied from."""
        return [folder for folder, _ in self._names]

    def files(self) -> Iterator[tuple[str, dict[str, Content]]]:
        """Yield the name of each model in the pack, and its files."""
        for (folder, names), name in self._names.items():
            paths = model_files(folder) if names is None else [find_model_file(folder, each) for each in names]
            own = {path.relative_to(folder).as_posix(): path for path in paths if path is not None}
            yield name, dict(sorted(portable_files(own).items(), key=lambda each: PurePosixPath(each[0])))

    def _free_name(self, name: str) -> str:
        plain = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).lstrip("._-") or "model"
        taken = {each.rpartition("/")[2] for each in self._names.values()}
        others = (f"{plain}-{number}" for number in range(2, len(taken) + 3))
        return next(each for each in (plain, *others) if each not in taken)


def packed_corpora(folders: list[Path], licences: Mapping[str, str] | None = None) -> tuple[PackedCorpus, ...]:
    """Return the corpora that models were trained on, by what their records say."""
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


def restricted_models(folders: list[Path]) -> list[str]:
    """Return why models may not be passed on: corpora whose annotations may not, and ids of restricted vocabularies."""
    found = []
    for folder in folders:
        record = _record(folder)
        names = sorted(str(corpus["name"]) for corpus in _corpora(record))
        found += [f"trained on {name}" for name in names if name.startswith(NOT_SHIPPED)]
        if _is_private(record):
            found.append(f"trained on private data ({', '.join(names)})")
        found += [f"annotations with ids of {title}" for title in _restricted_ids(folder)]
    return list(dict.fromkeys(found))


def _restricted_ids(folder: Path) -> list[str]:
    if not (folder / _MEMORY / "CURRENT").is_file():
        return []
    known = restricted_prefixes()
    return [known[prefix] for prefix, _ in iter_prefixes(open_memory(folder / _MEMORY).concepts) if prefix in known]


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
