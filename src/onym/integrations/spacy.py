"""A spaCy component: `nlp.add_pipe("onym", config={"pipeline": "mesh-pipeline"})`.

`doc.ents` has the mentions, with the concept as `kb_id_`; of overlapping mentions, it has the longest. `doc.spans["onym"]` has
all mentions. Spans consist of whole tokens; `span._.onym` has the exact offsets, the candidates and the confidence, and
`span._.kb_ents` the ids and scores in the format of scispaCy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

from onym.corpora.problems import require_complete
from onym.errors import InputError, missing_extra
from onym.text.boundaries import WholeTokens
from onym.types import AssertionMark, Candidate, Document, LinkedDocument, Mention, Row

try:
    from spacy.language import Language
    from spacy.pipeline import Pipe
    from spacy.tokens import Doc, Span
    from spacy.util import filter_spans
except ImportError as e:
    raise missing_extra("the spaCy component", "spacy") from e

if TYPE_CHECKING:
    from onym.kb import KnowledgeBase

GROUP = "onym"
"""Name of the component, and its key in `doc.spans`, `span._` and `doc.user_data`."""
_UNTYPED = "ENTITY"  # label of mentions without a type, as in scispaCy's models


@dataclass(frozen=True, slots=True)
class SpanLink:
    """The link of a span. `start` and `end` are the exact code point offsets of the mention; other fields are table columns.

    Ids are written in the usual style of the vocabulary, such as MESH:D005334. If the mention is not linked, `nil_reason` says
    why, and `candidates` still has the candidates. `assertion` has marks such as `negated`; None if they are switched off.
    `extra` is what components of the pipeline say.
    """

    start: int
    end: int
    type: str | None
    concept_id: str | None
    preferred_name: str | None
    matched_name: str | None
    score: float | None
    confidence: float | None
    ties: int
    stage: str | None
    nil_reason: str | None
    assertion: tuple[AssertionMark, ...] | None
    candidates: tuple[Candidate, ...]
    extra: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, row: Row) -> SpanLink:
        """Create a link from a row of the flat table and its candidates."""
        candidates = tuple(
            Candidate(each["concept_id"], each["matched_name"], each["score"], each["preferred_name"])
            for each in row["candidates"]
        )
        assertion = None if row["assertion"] is None else tuple(row["assertion"])
        values = {each.name: row[each.name] for each in fields(cls) if each.name in row}
        return cls(**values | {"assertion": assertion, "candidates": candidates})


def link_of(span: Span) -> SpanLink | None:
    """Return the link of a span (`span._.onym`), or None if the span is not a mention.

    The data is stored as plain values in `doc.user_data`, so that it survives `DocBin` and multiprocessing.
    """
    row = _row_of(span)
    return None if row is None else SpanLink.of(row)


def kb_ents_of(span: Span) -> list[tuple[str, float]]:
    """Return (id, score) pairs, best first, as in scispaCy (`span._.kb_ents`). Empty if the mention is not linked."""
    row = _row_of(span)
    if row is None or row["nil_reason"]:
        return []
    return [(each["concept_id"], each["score"]) for each in row["candidates"]]


def _row_of(span: Span) -> Row | None:
    rows = span.doc.user_data.get(GROUP, {})
    key = _key(span)
    found: Row | None = rows.get(f"{key}/{span.id_}") or rows.get(key)
    return found


def _key(span: Span) -> str:
    return f"{span.start_char}-{span.end_char}"


Span.set_extension(GROUP, getter=link_of, force=True)
Span.set_extension("kb_ents", getter=kb_ents_of, force=True)


class OnymPipe(Pipe):
    """spaCy component that detects and links mentions. With `use_entities`, it links the entities of earlier components.

    `options` are fields of `PipelineOptions`, such as `{"types": ["Disease"], "assertion": False}`; those that are given
    replace the pipeline's. `components` are names of plug-ins, `corrections` is a file of rules.

    >>> import spacy
    >>> from onym import build_pipeline
    >>> folder = getfixture("tmp_path") / "pipeline"
    >>> _ = build_pipeline(getfixture("tiny_kb"), folder)
    >>> nlp = spacy.blank("en")
    >>> _ = nlp.add_pipe("onym", config={"pipeline": str(folder)})
    >>> [(ent.text, ent.kb_id_, ent._.kb_ents) for ent in nlp("High fever.").ents]
    [('fever', 'MESH:D005334', [('MESH:D005334', 1.0)])]
    """

    def __init__(
        self,
        name: str,
        folder: str,
        *,
        use_entities: bool = False,
        options: Mapping[str, Any] | None = None,
        components: Sequence[str] = (),
        corrections: str | None = None,
    ) -> None:
        from onym.packs.locate import load
        from onym.pipeline import PipelineOptions

        self.name, self.folder, self.use_entities = name, folder, use_entities
        given = PipelineOptions.of(dict(options or {}))
        pipeline = load(folder, prefer=given.prefer).with_options(given).with_components(*components)
        pipeline = pipeline.with_corrections(corrections)
        self.pipeline = pipeline.without_detector() if use_entities else pipeline
        self._again = partial(
            OnymPipe,
            name,
            folder,
            use_entities=use_entities,
            options=options,
            components=components,
            corrections=corrections,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the settings. The other process opens the pipeline again."""
        return self._again, ()

    @property
    def kb(self) -> KnowledgeBase:
        """The knowledge base; `nlp.get_pipe("onym").kb[ent.kb_id_]` is the concept of an entity."""
        return self.pipeline.kb

    def __call__(self, doc: Doc) -> Doc:
        """Link one doc."""
        (linked,) = require_complete(self.pipeline.link_many(self._documents([doc])))
        return self._annotate(doc, linked)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Link a stream of docs in batches. A doc that cannot be linked is passed to spaCy's error handler."""
        rest = iter(stream)
        while docs := list(islice(rest, batch_size)):
            linked = self.pipeline.link_many(self._documents(docs))
            for doc, each in zip(docs, linked, strict=True):
                try:
                    (complete,) = require_complete([each])
                except InputError as e:
                    self.get_error_handler()(self.name, self, [doc], e)
                else:
                    yield self._annotate(doc, complete)

    def _documents(self, docs: Sequence[Doc]) -> Iterator[Document]:
        for number, doc in enumerate(docs, 1):
            ents = doc.ents if self.use_entities else ()
            mentions = tuple(Mention(ent.start_char, ent.end_char, ent.text, type=ent.label_) for ent in ents)
            yield Document(str(number), doc.text, mentions)

    def _annotate(self, doc: Doc, linked: LinkedDocument) -> Doc:
        """Store the links in the doc."""
        marks = [None if link.assertion is None else list(link.assertion) for link in linked.links]  # as plain values
        rows = [row | {"assertion": each} for row, each in zip(linked.to_dict()["links"], marks, strict=True)]
        ids = [ent.id_ for ent in doc.ents] if self.use_entities else [""] * len(rows)
        tokens = WholeTokens(doc)
        spans = [_span(tokens, row, span_id) for row, span_id in zip(rows, ids, strict=True)]
        doc.user_data[GROUP] = _rows_by_span(spans, rows)
        doc.spans[GROUP] = spans
        own = spans if _are_apart(spans) else filter_spans(spans)
        doc.set_ents([*own, *_apart(doc.ents, own)])
        return doc


def _span(tokens: WholeTokens, row: Row, span_id: str) -> Span:
    return tokens.span(row["start"], row["end"], row["type"] or _UNTYPED, row["concept_id"] or "", span_id)


def _are_apart(spans: Sequence[Span]) -> bool:
    """Return whether the spans are already sorted and non-overlapping (fast path: no filtering needed)."""
    return all(one.end <= other.start for one, other in pairwise(spans))


def _apart(ents: Sequence[Span], spans: Sequence[Span]) -> list[Span]:
    """Return the entities that overlap none of the spans."""
    covered = {token for span in spans for token in range(span.start, span.end)} if ents else set()
    return [ent for ent in ents if covered.isdisjoint(range(ent.start, ent.end))]


def _rows_by_span(spans: Sequence[Span], rows: Sequence[Row]) -> dict[str, Row]:
    """Return the rows by span key. If several mentions have the same tokens, all but the first get a span id to differ."""
    found: dict[str, Row] = {}
    for span, row in zip(spans, rows, strict=True):
        key = _key(span)
        if key in found:
            span.id_ = str(len(found))
            key = f"{key}/{span.id_}"
        found[key] = row
    return found


@Language.factory(
    "onym",
    assigns=["doc.ents", "doc.spans", "span._.onym", "span._.kb_ents", "token.ent_kb_id", "token.ent_type", "token.ent_iob"],
    default_config={"use_entities": False, "options": {}, "components": [], "corrections": None},
)
def create(  # noqa: PLR0917 - as spaCy calls it
    nlp: Language,  # noqa: ARG001 - as spaCy calls it
    name: str,
    pipeline: str,
    use_entities: bool,
    options: dict[str, Any],
    components: list[str],
    corrections: str | None,
) -> OnymPipe:
    """Create the component for `nlp.add_pipe`; `pipeline` is the folder or name of an Onym pipeline."""
    return OnymPipe(name, pipeline, use_entities=use_entities, options=options, components=components, corrections=corrections)
