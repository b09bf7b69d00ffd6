"""Phrases that occur nowhere else, planted in documents: whoever shows one has shown text."""

from __future__ import annotations

import random

from onym.types import Document, Mention, Passage, Relation

_LETTERS = "bcdfghjklmnpqrstvwxz"
_LENGTH = 12


class Canaries:
    """Makes phrases of two words each, and finds these words in what was shown."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.words: list[str] = []

    def phrase(self) -> str:
        """Return a phrase; its words are of letters alone, so that no way to escape or to quote text changes them."""
        fresh = ["".join(self._rng.choices(_LETTERS, k=_LENGTH)) for _ in range(2)]
        self.words += fresh
        return " ".join(fresh)

    def seen_in(self, shown: str) -> list[str]:
        """Return the words that were shown, in whatever case."""
        lower = shown.lower()
        return [word for word in self.words if word in lower]


def planted_documents(canaries: Canaries, count: int = 3) -> list[Document]:
    """Return documents with phrases in title, text, surfaces, notes and relations; their ids are plain."""
    return [_planted(canaries, f"note{number}") for number in range(1, count + 1)]


def _planted(canaries: Canaries, document_id: str) -> Document:
    title, surface = canaries.phrase(), canaries.phrase()
    text = f"{title} admitted.\nHigh {surface} and fever since {canaries.phrase()}; é {canaries.phrase()}."
    fever, own = text.index("fever"), text.index(surface)
    mentions = (
        Mention(own, own + len(surface), surface, ("mesh:D000001",), "Disease", "T1", notes=(("comment", canaries.phrase()),)),
        Mention(fever, fever + 5, "fever", ("mesh:D005334",), "Disease", "T2"),
    )
    passages = (Passage(0, len(title) + 10, "title"), Passage(len(title) + 11, len(text), "abstract"))
    relation = Relation("causes", (("Arg1", "T1"), ("Arg2", "T2")), "R1", (("comment", canaries.phrase()),))
    return Document(document_id, text, mentions, passages, (relation,), (("seen by", canaries.phrase()),))
