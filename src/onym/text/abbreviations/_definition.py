"""What a text says of one abbreviation."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Abbreviation:
    """A short form, the long form that a text gives it, and where both stand.

    Offsets count code points of the text, end exclusive: `text[long_start:long_end]` is `long`, and likewise for `short`.
    `strategy` names the rule that found the pair.
    """

    short: str = field(repr=False)  # a document's text stays out of logs
    long: str = field(repr=False)
    short_start: int
    short_end: int
    long_start: int
    long_end: int
    strategy: str
