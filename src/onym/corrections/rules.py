"""Rules of corrections: what a surface means, and where.

A rule has the narrowest scope that its fields give: one place (`document`, `start` and `end`), a document, an expansion of an
abbreviation, or always.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

from onym.errors import InputError
from onym.text.normal import normal_name
from onym.text.typography import fold_text

CASE_SENSITIVE_BELOW = 4
"""Surfaces of up to this many letters and digits are compared case-sensitively, unless the detector has another limit."""
NOT_A_MENTION, NO_CONCEPT = "not-a-mention", "no-concept"
"""Meanings of a surface besides the id of a concept."""
_DIGEST = re.compile(r"[0-9a-f]{16,64}|")
_MAX_SURFACE, _MAX_ID, _MAX_COMMENT = 1_000, 200, 10_000


class RuleScope(IntEnum):
    """Where a rule holds; of several rules for a mention, the first in this order."""

    SPAN = 0
    DOCUMENT = 1
    EXPANSION = 2
    ALWAYS = 3

    @property
    def label(self) -> str:
        """The scope as shown to users."""
        return ("at this place", "in this document", "with this expansion", "always")[self]


@dataclass(frozen=True, slots=True)
class Rule:
    """What a surface means: the id of a concept, `NOT_A_MENTION` or `NO_CONCEPT`.

    `digest` is the start of the SHA-256 of the document's text; if it is given, the rule holds for this text only. With `add`,
    the rule also adds mentions that the detector missed. `line` is its line in the file, for messages.

    >>> Rule("MS", "mesh:D009103", expansion="multiple sclerosis").scope.label
    'with this expansion'
    """

    surface: str = field(repr=False)  # keeps document text out of logs
    meaning: str
    document: str = ""
    expansion: str = field(default="", repr=False)
    start: int | None = None
    end: int | None = None
    digest: str = ""
    add: bool = False
    author: str = ""
    comment: str = field(default="", repr=False)
    line: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        if problem := next(self._problems(), ""):
            where = f"line {self.line}" if self.line else ""
            raise InputError("corrections-malformed", problem, where=where, fix="see the reference of corrections")

    def _problems(self) -> Iterator[str]:
        if not self.surface.strip() or len(self.surface) > _MAX_SURFACE or len(self.expansion) > _MAX_SURFACE:
            yield f"the surface is empty, or longer than {_MAX_SURFACE:,} characters"
        is_word = self.meaning in (NOT_A_MENTION, NO_CONCEPT)
        if not is_word and (":" not in self.meaning or len(self.meaning) > _MAX_ID):
            yield f"the meaning is neither the id of a concept, such as mesh:D003924, nor {NOT_A_MENTION}, nor {NO_CONCEPT}"
        if (self.start is None) != (self.end is None) or (self.start is not None and not self.document):
            yield "a place needs a document, a start and an end"
        if self.start is not None and self.end is not None and not 0 <= self.start < self.end:
            yield "the place is empty, reversed or negative"
        if self.expansion and self.document:
            yield "a rule has a document or an expansion, not both"
        if self.add and self.meaning == NOT_A_MENTION:
            yield "a rule cannot add what is not a mention"
        if not _DIGEST.fullmatch(self.digest) or (self.digest and not self.document):
            yield "a digest has 16 to 64 hexadecimal digits, and belongs to a document"
        if len(self.comment) > _MAX_COMMENT or len(self.author) > _MAX_ID:
            yield "the comment or the author is too long"

    @property
    def scope(self) -> RuleScope:
        """Where the rule holds."""
        if self.start is not None:
            return RuleScope.SPAN
        if self.document:
            return RuleScope.DOCUMENT
        return RuleScope.EXPANSION if self.expansion else RuleScope.ALWAYS

    @property
    def is_concept(self) -> bool:
        """Whether the meaning is the id of a concept."""
        return self.meaning not in (NOT_A_MENTION, NO_CONCEPT)


def surface_key(surface: str, case_sensitive_below: int = CASE_SENSITIVE_BELOW) -> str:
    """Return the form by which a rule finds a surface: short surfaces keep their case, others are normalised like names.

    >>> surface_key("M.S."), surface_key("MS"), surface_key("Ms"), surface_key("Heart-Attack")
    ('=MS', '=MS', '=Ms', 'heart attack')
    """
    bare = "".join(filter(str.isalnum, surface))
    if len(bare) <= case_sensitive_below:
        return f"={bare or surface.strip()}"  # the normal form of a name has no equals sign
    return normal_name(fold_text(surface))
