"""Prepared datasets: an artefact with one JSONL file per split, a report, and (if the dataset has a dictionary) a KB in `kb`.

A dataset is opened by folder or by name. A dataset opened by name is prepared once and then read from the cache.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Self

from onym.corpora.formats import jsonl
from onym.corpora.plain import to_plain
from onym.corpora.reading import number_items
from onym.datasets.base import SPLITS, Dataset, DatasetFiles, DropCounts
from onym.datasets.catalogue import get
from onym.datasets.report import Counts, KbCoverage, Report, SplitCounts, report_of
from onym.errors import ConfigError, InputError, IntegrityError, LimitError, format_id
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.store.artefact import POINTER, Artefact
from onym.store.cache import Verify, cache_folder
from onym.store.files.source import Source
from onym.store.limits import DEFAULT_LIMITS
from onym.store.output import require_artefact
from onym.store.stage import Record, Stage, staging
from onym.types import Document, Problem

KIND, FORMAT = "dataset", 2
REPORT, KB = "report.json", "kb"


class PreparedDataset:
    """A prepared dataset: documents by split, and the report of the preparation.

    >>> folder = getfixture("tmp_path")
    >>> for split in ("Train", "Test"):
    ...     _ = (folder / f"SPECIES_{split}.PubTator").write_text("1|t|A mouse\\n1|a|\\n1\\t2\\t7\\tmouse\\tSpecies\\t10090\\n")
    >>> dataset = prepare("s800", folder, folder / "s800")
    >>> dataset.splits, [mention.concept_ids for doc in dataset.documents("test") for mention in doc.mentions]
    (('train', 'test'), [('ncbitaxon:10090',)])
    >>> dataset.report["overlap"]["test in train"]["same_span"]
    1
    """

    def __init__(self, folder: Path, artefact: Artefact) -> None:
        self.folder = folder
        self.digest = artefact.digest
        self.manifest = artefact.manifest
        self.name = str(artefact.manifest.config.get("name", ""))
        self.report: Report = artefact.json(REPORT)
        self.splits = tuple(split for split in SPLITS if _file_of(split) in artefact.manifest.files)
        self._artefact = artefact

    @classmethod
    def open(cls, folder: Path | str, *, verify: Verify = "once") -> Self:
        """Open a prepared dataset. Its files are hashed on first use on this machine, or always with `verify="full"`."""
        artefact = Artefact.open(Path(folder), KIND, FORMAT, verify)
        dataset = cls(Path(folder), artefact)
        if artefact.is_new_here:
            artefact.remember()
        return dataset

    def __repr__(self) -> str:
        return f"<PreparedDataset {self.name} {self.digest}: {', '.join(self.splits)}>"

    @property
    def kb_folder(self) -> Path | None:
        """Folder of the knowledge base built from the dataset's own dictionary, or None if it has no dictionary."""
        return self.folder / KB if self.manifest.config.get("options", {}).get("kb") == "own" else None

    def documents(self, split: str) -> Iterator[Document]:
        """Yield the documents of a split."""
        if split not in self.splits:
            what = f"{self.name} has no split named {split!r}"
            raise ConfigError("dataset-split", what, where=str(self.folder), fix=f"use one of {', '.join(self.splits)}")
        file = self._artefact.file(_file_of(split))
        for item in number_items(jsonl.read(Source.of_files(file.name, [file])), file.name):
            if isinstance(item, Problem):
                raise IntegrityError(
                    "artefact-corrupt", item.what, where=f"{self.folder}: {item.where}", fix="prepare the dataset again"
                )
            yield item


def prepare(name: str, source: Path, dest: Path, *, kb: KnowledgeBase | None = None, force: bool = False) -> PreparedDataset:
    """Prepare a dataset of the catalogue from the files in the folder `source`. If given, `kb` replaces its dictionary."""
    dataset = get(name)
    require_free(dest, force=force)
    return prepare_dataset(dataset, DatasetFiles.find(source, dataset.files), dest, kb)


def prepare_dataset(dataset: Dataset, inputs: DatasetFiles, dest: Path, kb: KnowledgeBase | None) -> PreparedDataset:
    """Prepare a dataset, which need not be in the catalogue, from its input files."""
    drops = DropCounts()
    with staging(dest) as stage:
        is_own = kb is None and dataset.dictionary is not None
        if is_own:
            kb = _own_kb(dataset, inputs, dest / KB)
        counts = Counts(KbCoverage(kb) if kb else None)
        _write(stage, dataset, inputs, drops, counts)
        report = report_of(dataset, counts, drops, is_own=is_own)
        stage.write_json(REPORT, report)
        options = {"kb": "own" if is_own else "other" if kb else "none"}
        config = {"name": dataset.name, "options": options, "kb": kb.digest if kb else ""}
        stage.publish(dest, KIND, FORMAT, Record(config, inputs.entries(), _numbers(report)))
    return PreparedDataset.open(dest)


def require_free(dest: Path, *, force: bool) -> None:
    """Raise ConfigError if `dest` is not empty. With `force`, `dest` may contain a prepared dataset, but nothing else."""
    require_artefact(dest)
    if not (dest / POINTER).exists():
        return
    if not force:
        fix = "choose another folder, or add --force"
        raise ConfigError("output-exists", "the folder already contains a prepared dataset", where=str(dest), fix=fix)
    try:
        Artefact.open(dest, KIND, FORMAT)
    except IntegrityError as e:  # a damaged dataset may be replaced, but not another kind of artefact
        if e.code == "artefact-kind":
            what = "the folder contains an artefact that is not a dataset"
            raise ConfigError("output-exists", what, where=str(dest), fix="choose another folder") from e


def _own_kb(dataset: Dataset, inputs: DatasetFiles, dest: Path) -> KnowledgeBase | None:
    if dataset.dictionary is None:
        return None
    recipe, sources = dataset.dictionary(inputs)
    build_kb(recipe, dest, sources=sources)
    return KnowledgeBase.open(dest)


def _write(stage: Stage, dataset: Dataset, inputs: DatasetFiles, drops: DropCounts, counts: Counts) -> None:
    for split, documents in groupby(dataset.read(inputs, drops), key=itemgetter(0)):
        with stage.file(_file_of(split)) as file:
            for line in _lines(split, (doc for _, doc in documents), counts):
                file.write(line)
    empty = [split for split in dataset.splits if not counts.splits.get(split, SplitCounts()).mentions]
    if empty:
        what = f"no mention with an id in {' and '.join(empty)}"
        fix = "check that these are the files of the corpus"
        raise InputError("dataset-empty", what, where=dataset.name, fix=fix)


def _lines(split: str, documents: Iterable[Document], counts: Counts) -> Iterator[bytes]:
    for doc in documents:
        line = json.dumps(to_plain(doc), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        if len(line) > DEFAULT_LIMITS.line_bytes:
            what = f"a document is longer than {DEFAULT_LIMITS.line_bytes:,} bytes"
            raise LimitError("limit-line", what, where=f"{split}: {format_id(doc.id)}")
        counts.add(split, doc)
        yield line


def _numbers(report: Report) -> dict[str, int]:
    splits: dict[str, dict[str, Any]] = report["splits"]
    return {f"{split}_{key}": values[key] for split, values in splits.items() for key in ("documents", "mentions")}


def _file_of(split: str) -> str:
    return f"{split}.jsonl"


def open_dataset(name_or_folder: str, data: Path | None = None, *, verify: Verify = "once") -> PreparedDataset:
    """Open a prepared dataset by folder or name. A name not yet in the cache is prepared from `data`.

    `data` is the folder with the corpus files. `verify` sets whether files are hashed on first use on this machine or always.

    >>> open_dataset("no-such-dataset")
    Traceback (most recent call last):
    onym.errors.ConfigError: [dataset-unknown] no dataset is named 'no-such-dataset'...
    """
    if (Path(name_or_folder) / POINTER).is_file():
        return PreparedDataset.open(name_or_folder, verify=verify)
    dataset = get(name_or_folder)
    cached = cache_folder() / "datasets" / dataset.name
    if (cached / POINTER).is_file():
        return PreparedDataset.open(cached, verify=verify)
    if data is None:
        fix = "pass the folder with the corpus files as --data, or set ONYM_DATA"
        raise ConfigError("config-invalid", f"{dataset.name} is not prepared yet, and no data folder is given", fix=fix)
    return prepare(dataset.name, data, cached)
