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
Row = dict[str, Any]
Link: TypeAlias = Any
Linked: TypeAlias = Any
"""As `onym.types` has them, which stands above."""


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


def html_of(linked: Linked) -> str:
    """Return the text of a linked document as HTML. A mark has a colour by its type, and a title that says what it means."""
    parts = [_marked(linked.document.text[start:end], links) for start, end, links in _stretches(linked)]
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


def _stretches(linked: Linked) -> Iterator[tuple[int, int, list[Link]]]:
    """Yield the text cut at the ends of all mentions, each stretch with the links that cover it."""
    waiting = sorted(linked.links, key=lambda link: link.mention.start, reverse=True)
    edges = {edge for link in waiting for edge in (link.mention.start, link.mention.end)}
    over: list[Link] = []
    for start, end in pairwise(sorted({0, len(linked.document.text), *edges})):
        while waiting and waiting[-1].mention.start <= start:
            over.append(waiting.pop())
        over = [link for link in over if link.mention.end > start]
        yield start, end, over


def _marked(text: str, links: Sequence[Link]) -> str:
    if not links:
        return escape(text)
    title = escape("\n".join(map(title_of, links)))
    types = [each.mention.type or each.candidates[0].type for each in links if each.concept_id]
    style = f"background:{_colour(types[0])};border-radius:3px" if types else _UNLINKED
    return f'<mark style="{style}" title="{title}">{escape(text)}</mark>'


def title_of(link: Link) -> str:
    """Return what a link says, in a line: the concept, its name and type, and how probable it is.

    >>> from onym.types import Candidate, Link, Mention
    >>> fever = Mention(0, 5, "Fever", type="Disease")
    >>> title_of(Link(fever, (Candidate("mesh:D005334", "fever", 1.0, "Fever"),), confidence=0.98))
    'MESH:D005334 Fever, Disease, confidence 0.98'
    >>> title_of(Link(fever))
    'not linked: no-candidate'
    """
    if link.concept_id is None:
        return f"not linked: {link.nil_reason}"
    best = link.candidates[0]
    named = f"{styled(best.concept_id)} {best.preferred_name or best.name}"
    certainty = f"score {best.score:.2f}" if link.confidence is None else f"confidence {link.confidence:.2f}"
    return ", ".join(part for part in (named, link.mention.type or best.type, certainty, *(link.assertion or ())) if part)


def _colour(name: str) -> str:
    return _COLOURS[sum(name.encode()) % len(_COLOURS)]


def _short(link: Link) -> str:
    return f"{link.mention.start}-{link.mention.end} {'NIL' if link.concept_id is None else styled(link.concept_id)}"
