"""Canary phrases: unique words planted in documents, whose appearance in any output means that text leaked."""

from __future__ import annotations

import io
import json
import logging
import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import asdict

from onym.errors import OnymError
from onym.types import Document, Mention, Passage, Problem, Relation

_LETTERS = "bcdfghjklmnpqrstvwxz"
_LENGTH = 12


class Canaries:
    """Makes phrases of two unique words, and finds these words in outputs."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.words: list[str] = []

    def phrase(self) -> str:
        """Return a phrase; its words consist of letters only, so that no escaping or quoting changes them."""
        fresh = ["".join(self._rng.choices(_LETTERS, k=_LENGTH)) for _ in range(2)]
        self.words += fresh
        return " ".join(fresh)

    def find_in(self, shown: str) -> list[str]:
        """Return the canary words that occur in an output, in any case."""
        lower = shown.lower()
        return [word for word in self.words if word in lower]


def plant_documents(canaries: Canaries, count: int = 3) -> list[Document]:
    """Return documents with phrases in title, text, surfaces, notes and relations, but not in ids."""
    return [_plant_document(canaries, f"note{number}") for number in range(1, count + 1)]


def _plant_document(canaries: Canaries, document_id: str) -> Document:
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


# Everything that an action outputs: errors, problems, logs, warnings and prints.


def capture_shown(act: Callable[[], object]) -> str:
    """Call `act` and return everything it outputs. If `act` returns text, that counts as output, too.

    The message of an exception that is not an OnymError does not count: the caller decides whether to show it.
    """
    with _everything() as buffer:
        try:
            buffer.write(f"{act() or ''}\n")
        except OnymError as e:
            buffer.write(f"{e}\n{e!r}\n{json.dumps(e.as_dict())}\n")
        except Exception as e:
            buffer.write(f"{type(e).__name__}\n")
    return buffer.getvalue()


def describe_problems(problems: list[Problem]) -> str:
    """Return problems as they are printed and as they are written to files."""
    return "\n".join(f"{problem!r} {json.dumps(asdict(problem))}" for problem in problems)


@contextmanager
def _everything() -> Iterator[io.StringIO]:
    buffer = io.StringIO()
    handler, root = logging.StreamHandler(buffer), logging.getLogger()
    own = [log for name, log in root.manager.loggerDict.items() if name.startswith("onym") and isinstance(log, logging.Logger)]
    levels = [(log, log.level) for log in (root, *own)]
    root.addHandler(handler)
    for log, _ in levels:
        log.setLevel(logging.DEBUG)
    try:
        with redirect_stdout(buffer), redirect_stderr(buffer), warnings.catch_warnings():
            warnings.simplefilter("always")  # every warning is printed to the captured stderr
            yield buffer
    finally:
        root.removeHandler(handler)
        for log, level in levels:
            log.setLevel(level)
