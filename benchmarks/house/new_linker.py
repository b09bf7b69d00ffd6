"""How many files a new linker needs: one is added to a copy of the source, and then used wherever linkers are used."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from benchmarks.house.command import run_copy
from benchmarks.house.pipelines import build_small_kb

NAME, OPTION, CONCEPT = "reversed", "--min-letters", "mesh:D005334"
SOURCE = '''"""Links a mention that is written from right to left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from pydantic import Field

from onym.kb import KnowledgeBase
from onym.kb.masks import ConceptMask
from onym.kb.ranking import Ranked, rank_concepts
from onym.linkers.base import LinkerConfig
from onym.parts import OpenContext
from onym.types import Document, LinkedDocument


class Config(LinkerConfig):
    """Exact match from right to left."""

    kind: Literal["reversed"] = "reversed"
    min_letters: int = Field(default=1, ge=1, description="Leave mentions with fewer letters unlinked.")


def open(config: Config, kb: KnowledgeBase, context: OpenContext) -> ReversedLinker:
    return ReversedLinker(kb, config)


class ReversedLinker:
    def __init__(self, kb: KnowledgeBase, config: Config) -> None:
        self.kb, self._config = kb, config

    @property
    def config(self) -> dict[str, Any]:
        return {"linker": "reversed", **self._config.model_dump(exclude={"kind"})}

    def link(
        self, documents: Iterable[Document], *, top_k: int = 10, only: ConceptMask | None = None
    ) -> Iterator[LinkedDocument]:
        for doc in documents:
            names = [self._find(mention.surface) for mention in doc.mentions]
            links = [
                (rank_concepts(self.kb, [(name, 1.0)], top_k, only) if name >= 0 else Ranked()).link(mention)
                for mention, name in zip(doc.mentions, names, strict=True)
            ]
            yield LinkedDocument(doc, tuple(links))

    def _find(self, surface: str) -> int:
        return self.kb.find(surface[::-1]) if len(surface) >= self._config.min_letters else -1
'''
_CORPUS = "1|t|A high revef\n1|a|\n1\t7\t12\trevef\tDisease\tD005334\n"


def files_to_add_a_linker(src: Path, folder: Path) -> int | None:
    """Return the number of files that had to be added or changed; None where that is not enough, with the reason on stderr."""
    copy = folder / "src"
    shutil.copytree(src, copy / "onym", ignore=shutil.ignore_patterns("__pycache__"))
    added = {copy / "onym" / "linkers" / f"{NAME}.py": SOURCE}
    for path, source in added.items():
        path.write_text(source)
    try:
        _use(copy, folder)
    except RuntimeError as e:
        print(e, file=sys.stderr)
        return None
    return len(added)


def _use(src: Path, folder: Path) -> None:
    """Use the linker in each command that has a choice of linkers."""
    kb, corpus = build_small_kb(folder / "kb"), folder / "corpus.txt"
    corpus.write_text(_CORPUS)
    _require(OPTION in run_copy(src, "link", "--help"), f"{OPTION} is not in onym link --help")
    direct, piped = folder / "direct.jsonl", folder / "piped.jsonl"
    run_copy(src, "link", str(corpus), "--kb", str(kb), "--linker", NAME, OPTION, "2", "-o", str(direct))
    _require(CONCEPT in direct.read_text(), "onym link does not link with it")
    options = ("--detector", "none", "--linker", NAME, OPTION, "2")
    run_copy(src, "pipeline", "build", "--kb", str(kb), *options, "-o", str(folder / "pipeline"))
    run_copy(src, "link", str(corpus), "--pipeline", str(folder / "pipeline"), "-o", str(piped))
    _require(CONCEPT in piped.read_text(), "a pipeline does not link with it")
    run_copy(src, "evaluate", "--linker", NAME, "--dataset", str(_dataset(src, folder)), "--json")


def _dataset(src: Path, folder: Path) -> Path:
    from tests.datasets.made import write_biosyn

    data, dest = write_biosyn(folder / "data"), folder / "dataset"
    run_copy(src, "dataset", "prepare", "ncbi-disease-biosyn", "--data", str(data), "-o", str(dest))
    return dest


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise RuntimeError(problem)
