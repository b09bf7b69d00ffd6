"""How a linked document is shown: as rows of a table, as plain values, and as HTML with its mentions marked.

The flat table is the same everywhere, in files, dataframes and on a terminal: a row for each mention, with the best answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from onym.errors import shown_id

if TYPE_CHECKING:
    import polars as pl

COLUMNS = (
    "document",
    "start",
    "end",
    "text",
    "type",
    "concept_id",
    "preferred_name",
    "matched_name",
    "score",
    "confidence",
    "ties",
    "stage",
    "nil_reason",
    "assertion",
)
"""The columns of the flat table."""
_WHOLE_NUMBERS, _NUMBERS = frozenset({"start", "end", "ties"}), frozenset({"score", "confidence"})
_SHOWN = 5  # links that are shown in a line
_COLOURS = ("#bfdbfe", "#fecaca", "#bbf7d0", "#fde68a", "#ddd6fe", "#fbcfe8", "#a5f3fc", "#fed7aa")
_UNLINKED = "background:none;outline:1px dashed #9ca3af"
IdStyle = Literal["curie", "obo", "raw"]
FhirVersion = Literal["R4B", "R5"]
"""Releases of FHIR whose ConceptMap is written; that of R4 is the same as of R4B."""
Row = dict[str, Any]
Link: TypeAlias = Any
Linked: TypeAlias = Any
Candidate: TypeAlias = Any
"""As `onym.types` has them, which stands above."""
Titled = tuple[Link, str]


@lru_cache(maxsize=65_536)
def styled(concept_id: str, style: IdStyle = "obo") -> str:
    """Return a concept's id as it is (`curie`), as the users of its vocabulary write it (`obo`), or without a prefix (`raw`).

    >>> styled("hp:0001250"), styled("mesh:D009203"), styled("mesh:D003924", "raw")
    ('HP:0001250', 'MESH:D009203', 'D003924')
    """
    prefix, _, local = concept_id.partition(":")
    return {"curie": concept_id, "obo": f"{prefix.upper()}:{local}", "raw": local}[style]


class LinkedViews:
    """What a linked document can be shown as."""

    __slots__ = ()

    def rows(self: Any, id_style: IdStyle = "obo") -> list[Row]:
        """Return a row of the flat table for each mention, in their order.

        >>> from onym.types import Candidate, Document, Link, LinkedDocument, Mention
        >>> fever = Mention(0, 5, "Fever")
        >>> link = Link(fever, (Candidate("mesh:D005334", "fever", 1.0),))
        >>> linked = LinkedDocument(Document("1", "Fever", (fever,)), (link,))
        >>> [(row["text"], row["concept_id"]) for row in linked.rows()]
        [('Fever', 'MESH:D005334')]
        """
        return [_row(self.document.id, link, id_style) for link in self.links]

    def to_dict(self: Any) -> dict[str, Any]:
        """Return the document's id and text, its links with all candidates, and its problems, as plain values."""
        problems = [{"code": each.code, "what": each.what, "where": each.where} for each in self.problems]
        links = self.rows()
        for row, link in zip(links, self.links, strict=True):
            row["candidates"] = _candidates(link)
        return {"id": self.document.id, "text": self.document.text, "links": links, "problems": problems}

    def to_polars(self: Any) -> pl.DataFrame:
        """Return the flat table as a dataframe of polars."""
        columns = kinds_of()
        return frame_of([[row[name] for name in columns] for row in self.rows()], columns)

    def to_pandas(self: Any) -> Any:
        """Return the flat table as a dataframe of pandas, which has to be installed."""
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=list(COLUMNS))

    def __repr__(self: Any) -> str:
        """Return ids and offsets: a document's text stays out of logs."""
        if self.problems:
            return f"<LinkedDocument {shown_id(self.document.id)}: {self.problems[0].code}>"
        shown = [_short(link) for link in self.links[:_SHOWN]]
        more = ", ..." if len(self.links) > _SHOWN else ""
        return f"<LinkedDocument {shown_id(self.document.id)}: {len(self.links)} links: {', '.join(shown)}{more}>"

    def _repr_html_(self: Any) -> str:
        """Return the text with its mentions marked, for notebooks: no script, everything escaped."""
        return html_of(self)


def concept_to_dict(concept: Any) -> dict[str, Any]:
    """Return a concept as plain values.

    >>> from onym.types import Concept, Name, NameKind
    >>> concept_to_dict(Concept("mesh:D005334", (Name("fever", "Fever", NameKind.PREFERRED, "en", ("demo",)),)))["id"]
    'MESH:D005334'
    """
    return {
        "id": styled(concept.id),
        "preferred_name": concept.preferred_name,
        "names": list(concept.names),
        "groups": list(concept.groups),
        "types": list(concept.types),
        "definitions": list(concept.definitions),
        "xrefs": [styled(xref) for xref in concept.xrefs],
    }


def kinds_of(columns: Sequence[str] = COLUMNS) -> dict[str, type]:
    """Return the type of the values of columns.

    >>> kinds_of(["start", "score", "text"])
    {'start': <class 'int'>, 'score': <class 'float'>, 'text': <class 'str'>}
    """
    return {name: int if name in _WHOLE_NUMBERS else float if name in _NUMBERS else str for name in columns}


def frame_of(rows: Sequence[Sequence[Any]], columns: Mapping[str, type]) -> pl.DataFrame:
    """Return rows as a dataframe of polars; `columns` says what is in them.

    >>> frame_of([("fever", 5)], {"text": str, "end": int}).to_dicts()
    [{'text': 'fever', 'end': 5}]
    """
    import polars as pl

    kinds = {int: pl.Int64, float: pl.Float64, str: pl.String}
    schema = {name: kinds[kind] for name, kind in columns.items()}
    return pl.DataFrame({name: [row[at] for row in rows] for at, name in enumerate(columns)}, schema=schema)


def html_of(linked: Linked, titles: Sequence[str] | None = None) -> str:
    """Return the text of a linked document as HTML. A mark has a colour by its type, and a title that says what it means.

    The titles are those of `title_of`, or other ones, one for each link.
    """
    titles = [title_of(link) for link in linked.links] if titles is None else titles
    titled = list(zip(linked.links, titles, strict=True))
    text = linked.document.text
    parts = [_marked(text[start:end], over) for start, end, over in _stretches(titled, len(text))]
    return f'<div class="onym" style="white-space:pre-wrap;line-height:1.7">{"".join(parts)}</div>'


def _row(document_id: str, link: Link, id_style: IdStyle) -> Row:
    mention, best = link.mention, None if link.nil_reason else link.candidates[0]
    return {
        "document": document_id,
        "start": mention.start,
        "end": mention.end,
        "text": mention.surface,
        "type": mention.type or (best.type if best else "") or None,
        "concept_id": styled(best.concept_id, id_style) if best else None,
        "preferred_name": best.preferred_name or None if best else None,
        "matched_name": best.name if best else None,
        "score": best.score if best else None,
        "confidence": link.confidence,
        "ties": link.tied,
        "stage": link.stage,
        "nil_reason": link.nil_reason,
        "assertion": ",".join(link.assertion or ()) or None,
    }


def _candidates(link: Link) -> list[dict[str, Any]]:
    return [
        {
            "concept_id": styled(each.concept_id),
            "preferred_name": each.preferred_name,
            "matched_name": each.name,
            "score": each.score,
        }
        for each in link.candidates
    ]


def _stretches(titled: Sequence[Titled], length: int) -> Iterator[tuple[int, int, list[Titled]]]:
    """Yield a text of this length cut at the ends of all mentions, each stretch with the links that cover it."""
    waiting = sorted(titled, key=lambda each: each[0].mention.start, reverse=True)
    edges = {edge for link, _ in waiting for edge in (link.mention.start, link.mention.end)}
    over: list[Titled] = []
    for start, end in pairwise(sorted({0, length, *edges})):
        while waiting and waiting[-1][0].mention.start <= start:
            over.append(waiting.pop())
        over = [each for each in over if each[0].mention.end > start]
        yield start, end, over


def _marked(text: str, titled: Sequence[Titled]) -> str:
    if not titled:
        return escape(text)
    title = escape("\n\n".join(title for _, title in titled))
    types = [link.mention.type or link.candidates[0].type for link, _ in titled if link.concept_id]
    style = f"background:{_colour(types[0])};border-radius:3px" if types else _UNLINKED
    return f'<mark style="{style}" title="{title}">{escape(text)}</mark>'


def title_of(link: Link) -> str:
    """Return what a link says, in lines: concept, type and certainty; the name that matched; ties and the runner-up.

    >>> from onym.types import Candidate, Link, Mention
    >>> fever, ague = Candidate("mesh:D005334", "pyrexia", 0.9, "Fever"), Candidate("mesh:D008288", "ague", 0.4, "Malaria")
    >>> mention = Mention(0, 5, "Fever", type="Disease")
    >>> print(title_of(Link(mention, (fever, ague), stage="tfidf", confidence=0.98)))
    MESH:D005334 Fever, Disease, confidence 0.98, by tfidf
    matched name: pyrexia, score 0.90
    runner-up: MESH:D008288 Malaria, score 0.40
    >>> title_of(Link(mention))
    'not linked: no-candidate'
    """
    return "\n".join(_title_lines(link))


def _title_lines(link: Link) -> Iterator[str]:
    if not link.candidates:
        yield f"not linked: {link.nil_reason}"
        return
    best, by = link.candidates[0], f"by {link.stage}" if link.stage else ""
    certainty = f"score {best.score:.2f}" if link.confidence is None else f"confidence {link.confidence:.2f}"
    parts = (_named(best), link.mention.type or best.type, certainty, by, *(link.assertion or ()))
    yield f"not linked: {link.nil_reason}; best candidate: " * bool(link.nil_reason) + ", ".join(filter(None, parts))
    if not best.name:  # annotations are ids alone, and the second is no runner-up
        return
    yield f"matched name: {best.name}, score {best.score:.2f}"
    if link.tied:
        yield f"concepts with the same score: {link.tied} more"
    yield from (f"runner-up: {_named(each)}, score {each.score:.2f}" for each in link.candidates[1:2])


def _named(candidate: Candidate) -> str:
    return f"{styled(candidate.concept_id)} {candidate.preferred_name or candidate.name}"


def _colour(name: str) -> str:
    return _COLOURS[sum(name.encode()) % len(_COLOURS)]


def _short(link: Link) -> str:
    return f"{link.mention.start}-{link.mention.end} {'NIL' if link.concept_id is None else styled(link.concept_id)}"
