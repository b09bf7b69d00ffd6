"""QuickUMLS over MRCONSO and MRSTY of the knowledge base.

Its spaCy model and the stop words of NLTK are downloaded when it starts. Here they are replaced: by a blank English pipeline
that splits sentences, without parts of speech, and by the stop words of spaCy. `lower` stands for the options -L and -U of the
installation.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import nltk.corpus
import spacy
from quickumls import QuickUMLS
from quickumls.install import extract_from_mrconso, parse_and_encode_ngrams
from spacy.lang.en.stop_words import STOP_WORDS

from benchmarks.rivals.adapters.serving import Answer, Job, Request, Tool, serve


class _StopWords:
    """Stands for the corpus of NLTK."""

    @staticmethod
    def words(*_languages: str) -> list[str]:
        return sorted(STOP_WORDS)


def _load_blank(*_name: str) -> Any:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    return nlp


def _folder(job: Job) -> Path:
    return Path(job["derived"]) / ("lower" if job["settings"].get("lower") else "as-is")


def prepare(job: Job) -> None:
    """Install QuickUMLS's files twice: as they are, and in lower case."""
    for is_lower in (False, True):
        folder = Path(job["derived"]) / ("lower" if is_lower else "as-is")
        folder.mkdir(exist_ok=True)
        (folder / "language.flag").write_text("ENG")
        (folder / "database_backend.flag").write_text("unqlite")
        for name in ("lowercase.flag", "normalize-unicode.flag") if is_lower else ():
            (folder / name).touch()
        options = argparse.Namespace(language="ENG", lowercase=is_lower, normalize_unicode=is_lower)
        base = Path(job["kb"])
        rows = extract_from_mrconso(str(base / "MRCONSO.RRF"), str(base / "MRSTY.RRF"), options)
        names = (str(folder / name) for name in ("umls-simstring.db", "cui-semtypes.db"))
        parse_and_encode_ngrams(rows, *names, database_backend="unqlite")


def open_tool(job: Job) -> Tool:
    """Open a matcher with the default options but those in the settings."""
    setattr(spacy, "load", _load_blank)  # noqa: B010 - its type is another
    nltk.corpus.stopwords = _StopWords()
    options = {key: value for key, value in job["settings"].items() if key != "lower"}
    matcher = QuickUMLS(str(_folder(job)), **options)

    def find(text: str) -> list[Answer]:
        matches = matcher.match(text, best_match=True, ignore_syntax=False)
        return [
            (
                found[0]["start"],
                found[0]["end"],
                [(each["cui"], _score(each)) for each in found],
            )
            for found in matches
        ]

    def link(requests: Sequence[Request]) -> Iterable[list[Answer]]:
        for request in requests:
            text, spans = request["text"], request["spans"]
            if spans is None:
                yield find(text)
            else:
                yield [(start, end, _best(find(text[start:end]))) for start, end in spans]

    return link


def _score(match: dict[str, Any]) -> float:
    return float(match["similarity"] + match["preferred"])


def _best(found: Sequence[Answer]) -> list[tuple[str, float]]:
    """Return the concepts of the longest match in a mention."""
    return max(found, key=lambda each: each[1] - each[0])[2] if found else []


if __name__ == "__main__":
    serve(open_tool, prepare)
