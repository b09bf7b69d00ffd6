"""Which document an answer is to: by its id where that is the only one, by file and ordinal where several have it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from onym.errors import InputError
from onym.types import Document, DocumentKey

DocumentName = str | DocumentKey
"""A document's id, where no other document has it; else its id, the file it was read from, and its ordinal there."""


class DocumentNames:
    """The names of documents among one another.

    >>> names = DocumentNames([("1", "a.txt", 1), ("1", "a.txt", 2), ("2", "a.txt", 3)])
    >>> names.of(("2", "a.txt", 3)), names.of(("1", "a.txt", 2))
    ('2', ('1', 'a.txt', 2))
    """

    def __init__(self, keys: Iterable[DocumentKey]) -> None:
        self._keys: defaultdict[str, set[DocumentKey]] = defaultdict(set)
        for key in keys:
            self._keys[key[0]].add(key)

    @classmethod
    def of_documents(cls, documents: Iterable[Document]) -> DocumentNames:
        """Name documents that must differ: two with one id, file and ordinal are refused."""
        counts = Counter(doc.key for doc in documents)
        for key, count in counts.items():
            if count > 1:
                what = "documents have the same id, and neither file nor ordinal tells them apart"
                fix = "read them with read_corpus, or give them ids of their own"
                raise InputError("documents-alike", what, where=f"document {key[0]}", fix=fix)
        return cls(counts)

    def __contains__(self, document_id: str) -> bool:
        return document_id in self._keys

    def of(self, key: DocumentKey) -> DocumentName:
        """Return the name of a document of these, or of any other one."""
        return key[0] if len(self._keys.get(key[0], ())) < 2 else key

    def matched(self, key: DocumentKey, others: DocumentNames) -> DocumentName:
        """Return the name, among these, of a document of `others`; one that could be several of these is refused.

        >>> gold = DocumentNames([("1", "test.jsonl", 1), ("2", "test.jsonl", 2)])
        >>> gold.matched(("1", "mine.txt", 7), DocumentNames([("1", "mine.txt", 7)]))
        '1'
        """
        own = self._keys.get(key[0], set())
        if len(own) == 1 and len(others._keys[key[0]]) > 1:
            raise _ambiguous(key, "several documents of the predictions have this id, one of the gold documents has it")
        if len(own) > 1 and key not in own:
            raise _ambiguous(key, "several gold documents have this id, and the predictions do not say which one they mean")
        return self.of(key)


def _ambiguous(key: DocumentKey, what: str) -> InputError:
    where = f"document {key[0]}" + (f" ({key[1]}, {key[2]})" if key[2] else "")
    fix = "predict on the gold documents themselves, with their file and ordinal"
    return InputError("predictions-ambiguous", what, where=where, fix=fix)
