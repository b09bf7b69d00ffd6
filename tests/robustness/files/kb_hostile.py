"""Open hostile files as a user would, check that each is rejected, and measure the time and memory that this takes.

files     number of files: bombs, entities, links, false sizes, broken encodings, forged knowledge bases
refused   files rejected by an error with a code; a file that is parsed, or that causes another exception, a hang or a crash, is
          not counted
worst_s   longest time for one file, in seconds; a file that took more than half a second is timed three times, because the
          machine may be busy, and its shortest time counts
worst_mb  largest peak memory growth of an idle process by one file, in megabytes
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import ijson  # noqa: F401
import lxml.etree  # noqa: F401
import pyarrow.csv

from onym.corpora.corpus import write_corpus
from onym.errors import OnymError
from onym.registry import READERS
from onym.types import Document, Mention
from tests.robustness.children import Child, LostError, requests
from tests.robustness.files import hostile_archives, hostile_artefacts, hostile_texts
from tests.robustness.files.case import Case, act
from tests.robustness.files.hostile_archives import ROW
from tests.robustness.files.hostile_artefacts import build_honest
from tests.robustness.meter import Meter

_PATIENCE_S = 10.0
_SOON_S = 0.5


@dataclass(frozen=True)
class Outcome:
    """The outcome of one file."""

    case: Case
    code: str
    seconds: float
    mb: float

    def merge(self, other: Outcome) -> Outcome:
        """Combine two outcomes of a file: rejected if rejected both times; the shorter time, and the larger memory growth."""
        worse = other if self.is_refused else self
        return Outcome(self.case, worse.code, min(self.seconds, other.seconds), max(self.mb, other.mb))

    @property
    def is_refused(self) -> bool:
        """Whether the file was rejected by an error with a code."""
        return bool(self.code) and not self.code.startswith("!")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--verbose", action="store_true", help="report each file on stderr")
    parser.add_argument("--only", default="", help="open only files whose name contains this")


def run(options: argparse.Namespace) -> dict[str, object]:
    """Open every file; with `--quick`, every third one."""
    cases = [case for case in CASES if getattr(options, "only", "") in case.name][:: 3 if options.quick else 1]
    found = outcomes(cases, verbose=getattr(options, "verbose", False))
    return {
        "files": len(found),
        "refused": sum(outcome.is_refused for outcome in found),
        "worst_s": round(max(outcome.seconds for outcome in found), 2),
        "worst_mb": round(max(outcome.mb for outcome in found), 1),
    }


def outcomes(cases: list[Case], *, verbose: bool = False) -> list[Outcome]:
    """Open every file in an idle process."""
    found = []
    with tempfile.TemporaryDirectory() as cache, closing(Child(work, cache, timeout=_PATIENCE_S)) as child:
        for case in cases:
            with tempfile.TemporaryDirectory() as folder:
                path = case.make(Path(folder))
                outcome = _outcome(child, case, path)
                for _ in range(2 if outcome.seconds > _SOON_S else 0):
                    outcome = outcome.merge(_outcome(child, case, path))
            found.append(outcome)
            if verbose:
                mark = "" if outcome.code == case.code else f"   (expected {case.code})"
                print(f"{outcome.seconds:7.3f} s {outcome.mb:7.1f} MB  {case.name}: {outcome.code}{mark}", file=sys.stderr)
    return found


def _outcome(child: Child, case: Case, path: Path) -> Outcome:
    """Open one file. The process is reused if its memory is back to its idle size."""
    try:
        answer = child.ask([str(path), case.act, case.format])
    except LostError as e:
        return Outcome(case, f"!{e.how}", e.seconds, 0.0)
    if not answer["idle"]:
        child.close()
    return Outcome(case, answer["code"], answer["seconds"], answer["mb"])


# Small valid files, one for each reader.

_FILES = {
    "MRCONSO.RRF": ROW * 1000,
    "table.csv": b"id,name\nD005334,fever\n",
    "hp.obo": b"format-version: 1.2\n\n[Term]\nid: HP:1\nname: Fever\n",
    "d2024.bin": b"*NEWRECORD\nRECTYPE = D\nMH = Fever\nUI = D005334\n",
    "dictionary.txt": b"D005334||fever\n",
    "ontology.json": b'[{"id": "MONDO:1", "name": "Fever", "synonyms": []}]',
    "entities.jsonl": b'{"concept_id": "C1", "canonical_name": "Fever", "aliases": []}\n',
    "desc.xml": b"<DescriptorRecordSet><DescriptorRecord/></DescriptorRecordSet>",
    "icd10cm_tabular.xml": b'<ICD10CM.tabular><chapter><section id="A00-A09"/></chapter></ICD10CM.tabular>',
    "RXNCONSO.RRF": b"1|ENG||||||1||1||RXNORM|IN|1|fever||N||\n" * 1000,
}


def honest(folder: Path) -> Iterator[Path]:
    """Write releases and a knowledge base into a folder, and yield their paths."""
    for name, content in _FILES.items():
        (folder / name).write_bytes(content)
        yield folder / name
    yield build_honest(folder)[0]


def honest_corpora(folder: Path) -> Iterator[tuple[Path, str]]:
    """Write a corpus for each format into a folder, and yield their paths and formats."""
    documents = [Document("1", "high fever", (Mention(5, 10, "fever", ("mesh:D005334",)),))]
    folder.mkdir()
    for name in ("jsonl", "bioc_json", "bioc_xml", "parquet", "docbin", "cometa", "brat"):
        write_corpus(documents, folder / name, name)
        yield folder / name, name


_IDLE_MB = 4.0  # MB; a process is reused only if its memory grew by at most this much


def work(pipe: Connection, cache: str) -> None:
    """Open hostile files for requests `[path, act, format]`; respond with error code, seconds and peak memory growth.

    First everything is imported and valid files are read, so that lazy imports and thread pools are not attributed to a
    hostile file.
    """
    os.environ["ONYM_CACHE"] = cache
    for name in READERS.built_in:
        __import__(f"onym.kb.readers.{name}")
    with tempfile.TemporaryDirectory() as folder:
        for path in honest(Path(folder)):
            act(path, "open" if path.is_dir() else "read", "")
        for path, form in honest_corpora(Path(folder) / "corpora"):
            act(path, "corpus", form)
    meter = Meter(_IDLE_MB, is_busy_only=True, give_back=_give_back)
    for request in requests(pipe):
        pipe.send(meter.measure(partial(_answer, *request)))


def _give_back() -> None:
    """Return unused memory to the system, so that the process can be reused."""
    pyarrow.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)


def _answer(path: str, what: str, format_name: str) -> dict[str, str]:
    try:
        act(Path(path), what, format_name)
    except OnymError as e:
        return {"code": e.code}
    except BaseException as e:
        return {"code": f"!{type(e).__name__}"}
    return {"code": "!parsed"}


CASES: tuple[Case, ...] = (
    *hostile_texts.MARKUP,
    *hostile_archives.CASES,
    *hostile_texts.TABLES,
    *hostile_texts.JSONS,
    *hostile_artefacts.CASES,
)
