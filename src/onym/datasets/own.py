"""Prepare your own corpus as a dataset: files of any format, split by file, by shares of the documents, or into folds.

Documents are assigned to splits by the hash of their text. So the assignment does not depend on their order, and documents with
the same text are always in the same split.
"""

from __future__ import annotations

import hashlib
import math
import re
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path

from onym.corpora.corpus import read_sources
from onym.datasets.base import SPLITS, Dataset, DatasetFiles, DropCounts, Reader
from onym.datasets.prepared import PreparedDataset, prepare_dataset, require_free
from onym.errors import ConfigError, InputError
from onym.kb import KnowledgeBase
from onym.types import Document

SHARES = (0.7, 0.15, 0.15)
"""Default shares of train, dev and test."""
MIN_FOLDS = 3
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
Division = Mapping[str, str]
"""The split of each text."""
Files = Mapping[str, Sequence[Path]] | Sequence[Path]
"""Files by split, or files of all splits."""


def prepare_own(
    name: str,
    files: Files,
    dest: Path,
    *,
    shares: Sequence[float] = SHARES,
    format: str = "",  # noqa: A002 - the name that callers expect
    kb: KnowledgeBase | None = None,
    force: bool = False,
) -> PreparedDataset:
    """Prepare your own corpus from one list of files per split, or split the documents by shares of train, dev and test.

    >>> folder = getfixture("tmp_path")
    >>> rows = [f"{n}|t|Fever {n}\\n{n}|a|\\n{n}\\t0\\t5\\tFever\\tDisease\\tD005334\\n" for n in range(20)]
    >>> _ = (folder / "mine.pubtator").write_text("\\n".join(rows))
    >>> dataset = prepare_own("mine", [folder / "mine.pubtator"], folder / "prepared")
    >>> [(split, sum(1 for _ in dataset.documents(split))) for split in dataset.splits]
    [('train', 14), ('dev', 3), ('test', 3)]
    """
    require_free(dest, force=force)
    if isinstance(files, Mapping):
        return _prepare(name, files, dest, kb, _by_file(files, format))
    _require_shares(shares)
    return _prepare(name, files, dest, kb, _make_reader(lambda texts: by_shares(texts, shares), files, format))


def prepare_folds(
    name: str,
    files: Sequence[Path],
    dest: Path,
    folds: int,
    *,
    format: str = "",  # noqa: A002 - the name that callers expect
    kb: KnowledgeBase | None = None,
    force: bool = False,
) -> list[PreparedDataset]:
    """Prepare your own corpus for cross-validation. In folder N, fold N is test, the next fold dev, and the others train."""
    if folds < MIN_FOLDS:
        raise ConfigError("config-invalid", f"at least {MIN_FOLDS} folds are needed (test, dev, train)", fix="raise --folds")
    for fold in range(folds):
        require_free(dest / str(fold + 1), force=force)

    def prepare_fold(fold: int) -> PreparedDataset:
        read = _make_reader(lambda texts: by_fold(texts, fold, folds), files, format)
        return _prepare(f"{name}-fold{fold + 1}", files, dest / str(fold + 1), kb, read)

    return [prepare_fold(fold) for fold in range(folds)]


def by_shares(texts: Sequence[str], shares: Sequence[float]) -> Division:
    """Assign each distinct text to a split, by the shares of train, dev and test.

    >>> sorted(by_shares(["a", "b", "c", "d", "d"], (0.5, 0.25, 0.25)).values())
    ['dev', 'test', 'train', 'train']
    """
    edges = list(accumulate(shares))
    drawn = _in_drawn_order(texts)
    positions = ((text, (rank + 0.5) / len(drawn)) for rank, text in enumerate(drawn))
    return {text: SPLITS[min(bisect(edges, position), len(SPLITS) - 1)] for text, position in positions}


def by_fold(texts: Sequence[str], fold: int, folds: int) -> Division:
    """Assign each text to a split: one fold is test, the next one dev, and the others train.

    >>> sorted(by_fold(["a", "b", "c", "d"], 0, 4).values())
    ['dev', 'test', 'train', 'train']
    """
    splits = {fold: "test", (fold + 1) % folds: "dev"}
    return {text: splits.get(rank % folds, "train") for rank, text in enumerate(_in_drawn_order(texts))}


def _in_drawn_order(texts: Sequence[str]) -> list[str]:
    """Return the distinct texts in pseudo-random order. They are sorted by hash, so that the input order does not matter."""
    return sorted(set(texts), key=lambda text: hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())


def _make_reader(divide: Callable[[Sequence[str]], Division], files: Sequence[Path], format: str) -> Reader:  # noqa: A002
    def read(inputs: DatasetFiles, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        documents = list(_documents(inputs, files, format, "train", drops))
        split_of = divide([doc.text for doc in documents])
        for split in SPLITS:
            for doc in documents:
                if split_of[doc.text] == split:
                    yield split, drops.with_ids(split, doc)

    return read


def _by_file(files: Mapping[str, Sequence[Path]], format: str) -> Reader:  # noqa: A002
    def read(inputs: DatasetFiles, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        for split in SPLITS:
            for doc in _documents(inputs, files.get(split, ()), format, split, drops):
                yield split, drops.with_ids(split, doc)

    return read


def _documents(
    inputs: DatasetFiles,
    files: Sequence[Path],
    format: str,  # noqa: A002
    split: str,
    drops: DropCounts,
) -> Iterator[Document]:
    """Yield the documents of the files; raise InputError if a file cannot be read."""
    if files:
        reading = read_sources([inputs.source(str(path)) for path in files], format)
        yield from drops.iter_documents(split, reading)
        reading.require_whole()


def _prepare(name: str, files: Files, dest: Path, kb: KnowledgeBase | None, read: Reader) -> PreparedDataset:
    if not _NAME.fullmatch(name):
        fix = "use up to 64 letters, digits, points, hyphens and underscores, starting with a letter or digit"
        raise ConfigError("config-invalid", f"invalid dataset name {name!r}", fix=fix)
    by_split = files if isinstance(files, Mapping) else dict.fromkeys(SPLITS, files)
    paths = [path for split in by_split.values() for path in split]
    missing = [path for path in paths if not path.exists()]
    if not paths or missing:
        what = f"file not found: {missing[0].name}" if missing else "no files given"
        raise InputError("dataset-files", what, where=str(missing[0]) if missing else name, fix="give paths of existing files")
    dataset = Dataset(
        name=name,
        title="one's own corpus",
        files=(),
        read=read,
        kb="that of --kb",
        protocol="strict",
        dropped="mentions without an id",
        licence="one's own",
        splits=tuple(split for split in SPLITS if by_split.get(split)),
    )
    return prepare_dataset(dataset, DatasetFiles({str(path): path for path in paths}), dest, kb)


def _require_shares(shares: Sequence[float]) -> None:
    if len(shares) != len(SPLITS) or min(shares) <= 0 or not math.isclose(sum(shares), 1.0):
        what = "shares must be three positive numbers (train, dev, test) that add up to 1"
        raise ConfigError("config-invalid", what, fix="give three shares, for example --shares 0.7,0.15,0.15")
