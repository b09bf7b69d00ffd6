"""Statements generated from a knowledge base: a clause with a name and a definition or other names of its concept.

Used for KB-guided pre-training: GenBioEL, section 2.2 and appendix E.2. ANGEL uses the most similar name instead of a random
one. The templates are those of GenBioEL's Table 10, without its final full stops, as in the paper's examples (section 2.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from onym.errors import ConfigError, InputError
from onym.kb import KnowledgeBase
from onym.methods.generative.template import InputLayout
from onym.train.samples.base import Sample, Shuffled, draw_rows, pick

_MENTION_FIELD, _CONTEXT_FIELD = "{mention}", "{context}"
DEFINED = (
    "{mention} is defined as {context}",
    "{mention} is described as {context}",
    "{context} are the definitions of {mention}",
    "{context} describe {mention}",
    "{context} define {mention}",
)
"""Templates for a concept with a definition."""
SYNONYMS = (
    "{context} are the synonyms of {mention}",
    "{context} indicate the same concept as {mention}",
    "{mention} has synonyms such as {context}",
    "{mention} refers to the same concepts as {context}",
)
"""Templates for a concept with several names and no definition."""
SINGLE = (
    "{context} is {mention}",
    "{context} is the same as {mention}",
    "{mention} is {context}",
    "{mention} is the same as {context}",
)
"""Templates for a concept with one name and no definition."""
Mentioned = Literal["random", "similar"]
"""How to choose the name in the clause: a random other name of the concept, or the one most similar to the target."""
_STREAM = 2
_DEFINITIONS, _NAMES = 2, 3  # maximum numbers of definitions and names in a context
_MENTION, _TEMPLATE, _CONTEXT = 0, 1, 2  # random numbers: 0 for the mention, 1 for the template, from 2 on for the context
_WIDTH = _CONTEXT + max(_DEFINITIONS, _NAMES)


@dataclass(frozen=True, slots=True)
class Clause:
    """A text, and the offsets of the mention in it."""

    text: str
    start: int
    end: int


def clause_of(template: str, mention: str, context: str) -> Clause:
    """Fill a template with a mention and its context.

    >>> clause_of(DEFINED[3], "fever", "A rise in temperature.")
    Clause(text='A rise in temperature. describe fever', start=32, end=37)
    """
    left, right = (part.replace(_CONTEXT_FIELD, context) for part in template.split(_MENTION_FIELD))
    return Clause(f"{left}{mention}{right}", len(left), len(left) + len(mention))


def templates_for(definitions: int, names: int) -> tuple[str, ...]:
    """Return the templates for a concept with these numbers of definitions and names.

    >>> templates_for(0, 1) == SINGLE
    True
    """
    if definitions:
        return DEFINED
    return SYNONYMS if names > 1 else SINGLE


@dataclass(frozen=True, slots=True)
class Statement:
    """A concept (KB row), the ids of its names used as mention and as target, and the clause with the mention."""

    concept: int
    mention: int
    target: int
    clause: Clause


class Statements:
    """An endless sequence of statements, shuffled by `seed`; in an epoch, every name of every concept is the target once.

    The mention is another name of the concept, if it has one. The context is up to two definitions; without definitions, up to
    three names other than mention and target; without such names, the target itself (as in the paper).

    Nothing is stored: a statement is computed from the knowledge base, the seed and its index.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> statement = Statements(kb, seed=1).at([0])[0]
    >>> statement.mention != statement.target
    True
    >>> clause = statement.clause
    >>> clause.text[clause.start : clause.end] == kb.names[statement.mention]
    True
    """

    def __init__(self, kb: KnowledgeBase, seed: int = 0, *, mention: Mentioned = "random") -> None:
        if mention not in get_args(Mentioned):
            raise ConfigError("config-invalid", f"invalid value {mention!r} of `mention`", fix='use "random" or "similar"')
        if not len(kb.term_names):
            raise InputError("kb-empty", "the knowledge base has no names to learn", where=str(kb.folder))
        self._kb, self._seed, self._is_similar = kb, seed, mention == "similar"
        self._order = Shuffled(len(kb.term_names), seed)
        # Convert to ndarray views, because indexing a memmap creates a new memmap object each time, which is slow.
        self._terms, self._defined = np.asarray(kb.concept_terms), np.asarray(kb.concept_definitions.offsets)
        self._term_names, self._definitions = np.asarray(kb.term_names), np.asarray(kb.concept_definitions.values)

    @property
    def epoch(self) -> int:
        """The number of statements in an epoch."""
        return len(self._order)

    def at(self, indices: Sequence[int]) -> list[Statement]:
        """Return the statements at these indices."""
        numbers = np.asarray(indices, dtype=np.int64)
        # Use the dtype of the column, because searchsorted would otherwise convert the whole column.
        terms = self._order.at(numbers).astype(self._terms.dtype)
        concepts = np.searchsorted(self._terms, terms, side="right") - 1
        rows = zip(
            concepts.tolist(),
            (terms - self._terms[concepts]).tolist(),
            _lists(self._terms, self._term_names, concepts),
            _lists(self._defined, self._definitions, concepts),
            draw_rows(self._seed, numbers, _WIDTH, stream=_STREAM).tolist(),
            strict=True,
        )
        return [self._statement(*row) for row in rows]

    def _statement(self, concept: int, target: int, names: list[int], definitions: list[int], drawn: list[int]) -> Statement:
        """Return the statement whose target is `names[target]`."""
        mention = self._mention(names, target, drawn[_MENTION])
        if definitions:
            parts = pick(drawn[_CONTEXT : _CONTEXT + _DEFINITIONS], len(definitions))
            context = " ".join([self._kb.definitions[definitions[part]] for part in parts])
        else:
            others = pick(drawn[_CONTEXT : _CONTEXT + _NAMES], len(names), exclude={target, mention})
            context = ", ".join([self._kb.names[names[other]] for other in others or (target,)])
        templates = templates_for(len(definitions), len(names))
        clause = clause_of(templates[drawn[_TEMPLATE] % len(templates)], self._kb.names[names[mention]], context)
        return Statement(concept, names[mention], names[target], clause)

    def _mention(self, names: list[int], target: int, number: int) -> int:
        if len(names) == 1:
            return target
        if not self._is_similar:
            return pick([number], len(names), exclude={target})[0]
        others = [other for other in range(len(names)) if other != target]
        texts = self._kb.names
        return others[closest(texts[names[target]], [texts[names[other]] for other in others])]


class KnowledgeSamples:
    """`count` samples from a KB, shuffled by `seed`; in an epoch, every name of every concept is the target once."""

    def __init__(
        self, kb: KnowledgeBase, layout: InputLayout, count: int, seed: int = 0, *, mention: Mentioned = "random"
    ) -> None:
        self.statements = Statements(kb, seed, mention=mention)
        self._kb, self._layout, self._count = kb, layout, count

    @property
    def epoch(self) -> int:
        """The number of samples in an epoch."""
        return self.statements.epoch

    def __len__(self) -> int:
        return self._count

    def __getitems__(self, indices: Sequence[int]) -> list[Sample]:
        return [self._sample(statement) for statement in self.statements.at(indices)]

    def _sample(self, statement: Statement) -> Sample:
        names, clause, layout = self._kb.names, statement.clause, self._layout
        source = layout.source(clause.text, clause.start, clause.end)
        return Sample(source, layout.prompt(names[statement.mention]), layout.name(names[statement.target]))


def closest(name: str, others: Sequence[str]) -> int:
    """Return the index of the most similar other name, by cosine of the sets of character 3-grams; ties go to the first.

    Unlike `text.similarity`, it does not build the TF-IDF matrix of all names, because it compares only the names of a concept.

    >>> closest("heart attack", ["coronary attack", "heart attacks", "mi"])
    1
    """
    own = _grams(name)
    scores = [_cosine(own, _grams(other)) for other in others]
    return scores.index(max(scores))


def _grams(name: str) -> set[tuple[str, str, str]]:
    padded = f" {name} "
    return set(zip(padded, padded[1:], padded[2:], strict=False))


def _cosine(own: set[tuple[str, str, str]], other: set[tuple[str, str, str]]) -> float:
    """Return the cosine of two sets, without the factor 1 / sqrt(len(own)), which does not change the ranking."""
    return len(own & other) / sqrt(max(1, len(other)))


def _lists(
    offsets: npt.NDArray[np.unsignedinteger], values: npt.NDArray[np.uint32], rows: npt.NDArray[np.intp]
) -> list[list[int]]:
    """Return the values of these rows, as lists."""
    bounds = zip(offsets[rows].tolist(), offsets[rows + 1].tolist(), strict=True)
    return [values[start:end].tolist() for start, end in bounds]
