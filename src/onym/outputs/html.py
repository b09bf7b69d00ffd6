"""HTML export: texts with highlighted mentions. No scripts, no external resources, all text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any, BinaryIO

from onym.corpora.base import documents_of
from onym.corpora.corpus import read_corpus
from onym.corpora.formats import jsonl, parquet
from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.markup import colour_of_type
from onym.outputs.base import OutputContext, refuse_options
from onym.pipeline.explanation import Explanations
from onym.store.files.source import Source
from onym.types import Candidate, Document, Link, LinkedDocument

ENDINGS = (".html",)
_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ max-width: 50rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.6 system-ui, sans-serif; color: #111; }}
h2 {{ font-size: 1rem; margin: 2rem 0 .3rem; color: #555; }}
mark {{ padding: .1rem .15rem; }}
.legend {{ position: sticky; bottom: 0; padding: .4rem 0; background: #fff; }}
.legend span {{ padding: .1rem .4rem; margin-right: .3rem; border-radius: 3px; }}
</style>
</head>
<body>
"""
_TAIL = "</body>\n</html>\n"
_LINKED: dict[str, Any] = {".jsonl": jsonl, ".parquet": parquet}


def read_shown(path: Path, kb: KnowledgeBase | None = None) -> Iterator[LinkedDocument]:
    """Yield the linked documents of a file. This is output of `onym link`, or any corpus: its annotations become links.

    If a knowledge base is given, the preferred names of the concepts are added.

    >>> path = getfixture("tmp_path") / "a.pubtator"
    >>> _ = path.write_text("1|t|High fever\\n1|a|\\n1\\t5\\t10\\tfever\\tDisease\\tD005334\\n")
    >>> [linked] = read_shown(path, KnowledgeBase.open(getfixture("tiny_kb")))
    >>> linked.links[0].candidates[0].preferred_name
    'Fever'
    """
    form = _LINKED.get(path.suffix)
    found = form.read_linked(Source.open(path)) if form else map(LinkedDocument, documents_of(read_corpus(path)))
    for linked in found:
        yield replace(linked, links=tuple(_add_names(link, kb) for link in linked.links or _iter_annotations(linked.document)))


def check(context: OutputContext) -> None:
    """Raise ConfigError for --no-text and for FHIR or OMOP options."""
    refuse_options(context.options)
    if not context.text:
        raise ConfigError(
            "config-invalid", "html always contains the text of documents", fix="drop --no-text, or choose another format"
        )


def write(linked: Iterable[LinkedDocument], file: BinaryIO, context: OutputContext) -> None:
    """Write linked documents as a page with the file name as title."""
    write_page(linked, context.path.stem, file)


def write_page(shown: Iterable[LinkedDocument | Explanations], title: str, file: BinaryIO) -> int:
    """Write a page with linked or explained documents and a legend of the colours of types; return the number of documents."""
    count, types = 0, dict[str, None]()
    file.write(_HEAD.format(title=escape(title)).encode())
    for each in shown:
        count += 1
        types |= dict.fromkeys(link.type for link in _links(each) if link.answer and link.type)
        file.write(f"<h2>{escape(each.document.id)}</h2>\n{each._repr_html_()}\n".encode("utf-8", "replace"))
    file.write(_legend(types).encode("utf-8", "replace") + _TAIL.encode())
    return count


def _links(shown: LinkedDocument | Explanations) -> Iterable[Link]:
    return shown.links if isinstance(shown, LinkedDocument) else (each.link for each in shown)


def _legend(types: Iterable[str]) -> str:
    """Return the colours of types as a line at the end of the page; empty if there is one type at most."""
    found = sorted(types)
    items = (f'<span style="background:{colour_of_type(name)}">{escape(name)}</span>' for name in found)
    return f'<p class="legend">{" ".join(items)}</p>\n' if len(found) > 1 else ""


def _iter_annotations(doc: Document) -> Iterator[Link]:
    """Yield the annotations of a document as links."""
    for mention in doc.mentions:
        yield Link(mention, tuple(Candidate(concept_id, "", 1.0) for concept_id in mention.concept_ids), tied=0)


def _add_names(link: Link, kb: KnowledgeBase | None) -> Link:
    """Add preferred names from the knowledge base to the candidates of a link."""
    if kb is None:
        return link
    rows = [(each, kb.concept_ids.find(each.concept_id)) for each in link.candidates]
    named = (replace(each, preferred_name=kb.label_of(row)[0]) if row >= 0 else each for each, row in rows)
    return replace(link, candidates=tuple(named))
