"""Corpora: documents with mentions, read and written in many formats.

Offsets count code points of the raw text. A mention whose surface differs from the text at its offsets is reported and
dropped, never repaired. A malformed document is reported and skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym._lazy import lazy

if TYPE_CHECKING:
    from onym.corpora.base import documents_of
    from onym.corpora.check import check_corpus, corpus_stats
    from onym.corpora.corpus import Written, read_corpus, write_corpus
    from onym.corpora.reading import PlannedFile, Reading

__all__ = [
    "PlannedFile",
    "Reading",
    "Written",
    "check_corpus",
    "corpus_stats",
    "documents_of",
    "read_corpus",
    "write_corpus",
]
__getattr__ = lazy(
    __name__,
    {
        "PlannedFile": "onym.corpora.reading",
        "Reading": "onym.corpora.reading",
        "Written": "onym.corpora.corpus",
        "check_corpus": "onym.corpora.check",
        "corpus_stats": "onym.corpora.check",
        "documents_of": "onym.corpora.base",
        "read_corpus": "onym.corpora.corpus",
        "write_corpus": "onym.corpora.corpus",
    },
)
