"""Linkers by the names that people call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from onym.errors import ConfigError
from onym.linkers.base import Linker
from onym.linkers.lexical import ExactLinker, TfidfLinker

if TYPE_CHECKING:
    from onym.kb import KnowledgeBase

LINKERS: dict[str, Callable[[KnowledgeBase], Linker]] = {"exact": ExactLinker, "tfidf": TfidfLinker}


def linker_named(name: str, kb: KnowledgeBase) -> Linker:
    """Return the linker of that name over a knowledge base.

    >>> from onym.kb import KnowledgeBase
    >>> linker_named("exact", KnowledgeBase.open(getfixture("tiny_kb"))).config["linker"]
    'exact'
    """
    if name not in LINKERS:
        raise ConfigError("linker-unknown", f"no linker is named {name!r}", fix=f"the names are {', '.join(LINKERS)}")
    return LINKERS[name](kb)
