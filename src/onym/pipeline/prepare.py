"""Step 1: replace typographic characters and analyse the text, once for all later steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from onym.corrections.corrections import Found
from onym.text.analysis import AnalysedDocument, analyse
from onym.text.typography import fold_document
from onym.types import Document, Problem


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document on its way through a pipeline.

    `original` is the document as given. `document` has plain characters at the same offsets, the analysis of its text, and
    the mentions to link, which are those of `found`. A document that failed has problems and no mentions.
    """

    original: Document
    document: AnalysedDocument
    found: tuple[Found, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def id(self) -> str:
        """The id of the document."""
        return self.original.id

    def with_found(self, found: Sequence[Found], problems: tuple[Problem, ...] = ()) -> Prepared:
        """Return a copy with these mentions to link. Relations are kept only if all annotated mentions are."""
        mentions = tuple(each.mention for each in found)
        spans = {(each.start, each.end) for each in mentions}
        is_whole = all((each.start, each.end) in spans for each in self.original.mentions)
        document = replace(self.document, mentions=mentions, relations=self.original.relations if is_whole else ())
        return Prepared(self.original, document, tuple(found), (*self.problems, *problems))


def prepare(documents: Sequence[Document], *, fold: bool = True) -> list[Prepared]:
    """Return analysed documents; with `fold`, curly quotes, special hyphens and spaces become plain ones."""
    return [Prepared(document, analyse(fold_document(document) if fold else document)) for document in documents]
