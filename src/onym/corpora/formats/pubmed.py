"""PubMed's XML baseline and update files: title and abstract, read one article at a time. Read-only.

The document id is the PMID, followed by a dot and the version if that is not 1. If an update file deletes a citation, the
problem `document-deleted` is reported, which does not count as a loss.

The text is the title and the sections of the abstract, joined by spaces; each section begins with its label, as on the PubMed
website.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onym.corpora.base import DELETED, Facet, Item, MalformedError
from onym.corpora.formats._files import any_looks, head
from onym.corpora.formats._read_only import preserve_nothing, refuse_to_write
from onym.store.files.source import InputFile, Source
from onym.store.files.xml import iter_records
from onym.types import Document, Passage, Problem

if TYPE_CHECKING:
    from onym.store.files.xml import Element

HOLDS: frozenset[Facet] = frozenset({"document ids", "text", "passages"})
IS_FOLDER = False
preserved_facets, write = preserve_nothing, refuse_to_write
DECODES = True

_ARTICLE, _DELETED = "PubmedArticle", "DeleteCitation"
_RECORDS = frozenset({_ARTICLE, _DELETED})


def matches(source: Source) -> bool:
    """Return whether a file is XML with a `PubmedArticleSet`."""
    return any_looks(source, _looks_right)


def read(source: Source) -> Iterator[Item]:
    """Yield a document for each citation."""
    for file in source.files:
        for number, record in enumerate(iter_records(file, _RECORDS), 1):
            where = f"{file.name}, record {number}"
            if record.tag == _DELETED:
                ids = [_id(pmid) for pmid in record.findall("PMID")]
                yield from (Problem(each, DELETED, "deleted by an update file", where) for each in ids if each)
                continue
            try:
                yield _document(record, where)
            except MalformedError as e:
                yield e.problem()


def _looks_right(file: InputFile) -> bool:
    data = head(file)
    return data.startswith(b"<") and b"<PubmedArticleSet" in data


def _document(article: Element, where: str) -> Document:
    citation = article.find("MedlineCitation")
    found = None if citation is None else citation.find("Article")
    pmid = "" if citation is None else _id(citation.find("PMID"))
    if found is None or not pmid:
        raise MalformedError("an article has no PMID or no title", where)
    title = _text(found.find("ArticleTitle"))
    abstract = found.find("Abstract")
    pieces, passages, end = [title], [Passage(0, len(title), "title")], len(title)
    for section in () if abstract is None else abstract.findall("AbstractText"):
        label = section.get("Label")
        piece = f"{label}: {_text(section)}" if label else _text(section)
        passages.append(Passage(end + 1, end + 1 + len(piece), "abstract"))
        pieces.append(piece)
        end += 1 + len(piece)
    return Document(pmid, " ".join(pieces), passages=tuple(passages))


def _id(element: Element | None) -> str:
    """Return the PMID, followed by the version if that is not 1: `20029614.2`."""
    pmid = "" if element is None else (element.text or "").strip()
    version = "" if element is None else (element.get("Version") or "1").strip()
    return pmid if not pmid or version == "1" else f"{pmid}.{version}"


def _text(element: Element | None) -> str:
    """Return the text of an element, including the text of nested elements."""
    if element is None:
        return ""
    return "".join(map(str, element.itertext())) if len(element) else element.text or ""
