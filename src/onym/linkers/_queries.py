"""What a mention is looked up by: its normalised surface, or that of what it abbreviates in its document."""

from __future__ import annotations

from onym.text.abbreviations import Abbreviations
from onym.text.analysis import analysis_of
from onym.text.normal import normal_name
from onym.types import Document


def queries(doc: Document, *, expand: bool) -> list[str]:
    """Return the query of each mention, in order.

    >>> from onym.types import Mention
    >>> queries(Document("1", "Atrial fibrillation (AF)", (Mention(21, 23, "AF"),)), expand=True)
    ['atrial fibrillation']
    """
    known = analysis_of(doc).abbreviations if expand and doc.mentions else Abbreviations(())
    return [normal_name(known.expand(mention.surface) or mention.surface) for mention in doc.mentions]
