"""Corpora of every format with canary phrases in them, whole or damaged."""

from __future__ import annotations

import gzip
import random
from dataclasses import dataclass, fields
from pathlib import Path

from benchmarks.fuzz.mutation import mutated
from benchmarks.privacy.canaries import Canaries, planted_documents
from onym.corpora.formats import ORDER, READ_ONLY, get
from onym.store.files.source import InputFile, Source
from onym.store.limits import DEFAULT_LIMITS, Limits
from onym.testing.documents import written

FORMATS = ORDER
WRITABLE = tuple(name for name in ORDER if name not in READ_ONLY)
_SUFFIX = {
    "parquet": ".parquet",
    "docbin": ".spacy",
    "jsonl": ".jsonl",
    "pubtator": ".txt",
    "bioc_xml": ".xml",
    "pubmed": ".xml",
    "cometa": ".tsv",
}
_TIGHT = Limits(**{limit.name: min(max(1, getattr(DEFAULT_LIMITS, limit.name) // 10), 300) for limit in fields(Limits)})
_ENCODINGS = ("utf-16", "utf-8-sig", "utf-7", "utf-32-le")


@dataclass(frozen=True)
class DamagedCorpus:
    """Files of a format, and how large they may be."""

    format: str
    files: dict[str, bytes]
    limits: Limits = DEFAULT_LIMITS

    def source(self) -> Source:
        """Return them as a source that is read from memory."""
        return Source.of_files("made", [InputFile.from_bytes(name, data, self.limits) for name, data in self.files.items()])

    def write(self, folder: Path) -> Path:
        """Write them to disk, and return what a command is given: the file, or the folder of several."""
        folder.mkdir()
        for name, data in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        return folder if len(self.files) > 1 else folder / next(iter(self.files))


def whole_corpus(canaries: Canaries, name: str) -> dict[str, bytes]:
    """Return the files of a corpus of that format."""
    if name == "pubmed":
        return {"pubmed.xml": _pubmed(canaries)}
    made = written(get(name), planted_documents(canaries))
    return {key or f"corpus{_SUFFIX.get(name, '.json')}": data for key, data in made.items()}


def damaged_corpus(rng: random.Random, canaries: Canaries) -> DamagedCorpus:
    """Return a corpus of a random format after some damage; now and then whole, recoded, packed, or within tight limits."""
    name = rng.choice(FORMATS)
    files = whole_corpus(canaries, name)
    victim = rng.choice(list(files))
    others = list(whole_corpus(canaries, rng.choice(FORMATS)).values())
    if rng.random() < 0.9:
        files[victim] = _damaged(rng, files[victim], others)
    if rng.random() < 0.05:
        files[f"{victim}.gz"] = gzip.compress(files.pop(victim), 1, mtime=0)[: rng.choice((40, None))]
    return DamagedCorpus(name, files, _TIGHT if rng.random() < 0.1 else DEFAULT_LIMITS)


def _damaged(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    if rng.random() < 0.05:
        return data.decode("utf-8", "replace").encode(rng.choice(_ENCODINGS))
    return mutated(rng, data, others)


def _pubmed(canaries: Canaries) -> bytes:
    articles = "".join(
        f"<PubmedArticle><MedlineCitation><PMID>{number}</PMID><Article>"
        f"<ArticleTitle>{canaries.phrase()}</ArticleTitle>"
        f"<Abstract><AbstractText>{canaries.phrase()} fever</AbstractText></Abstract>"
        "</Article></MedlineCitation></PubmedArticle>"
        for number in (1, 2)
    )
    return f'<?xml version="1.0"?>\n<PubmedArticleSet>{articles}</PubmedArticleSet>\n'.encode()
