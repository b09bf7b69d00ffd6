"""Gilda's Grounder over the terms of the knowledge base: `annotate` for texts, `ground` for annotated mentions and terms.

The exported terms are normalised again by Gilda. Its disambiguation models, which it downloads, are left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from gilda.grounder import Grounder, load_entries_from_terms_file
from gilda.ner import annotate
from gilda.process import normalize

from benchmarks.rivals.adapters.serving import Answer, Job, Request, Tool, serve


def open_tool(job: Job) -> Tool:
    """Open a grounder over the exported terms."""
    terms = list(_read_terms(Path(job["kb"]) / "terms.tsv.gz"))
    grounder = Grounder(terms, namespace_priority=[each.upper() for each in job["prefer"]])
    grounder.gilda_disambiguators = {}  # else it downloads them

    def link(requests: Sequence[Request]) -> Iterable[list[Answer]]:
        for request in requests:
            text, spans = request["text"], request["spans"]
            if spans is None:
                found = annotate(text, grounder=grounder)
                yield [(each.start, each.end, _scores(each.matches)) for each in found]
            else:
                yield [
                    (
                        start,
                        end,
                        _scores(grounder.ground(text[start:end], context=text)),
                    )
                    for start, end in spans
                ]

    return link


def _read_terms(path: Path) -> Iterable[Any]:
    for term in load_entries_from_terms_file(str(path)):
        term.norm_text = normalize(term.text)
        if term.norm_text.strip():
            yield term


def _scores(matches: Sequence[Any]) -> list[tuple[str, float]]:
    return [(f"{match.term.db.lower()}:{match.term.id}", match.score) for match in matches]


if __name__ == "__main__":
    serve(open_tool)
