"""Linkers by the names that people call them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from onym.errors import ConfigError, missing_extra
from onym.linkers.base import Linker
from onym.linkers.lexical import ExactLinker, TfidfLinker

if TYPE_CHECKING:
    from onym.kb import KnowledgeBase

LINKERS = ("exact", "tfidf", "generative")


@dataclass(frozen=True, slots=True)
class LinkerOptions:
    """What a linker with a model may be told. `model` and `tokenizer` are folders, or names on the hub with `download`."""

    model: str = ""
    tokenizer: str = ""
    template: str = "genbioel"
    search: Literal["beam", "exact"] = "beam"
    ranking: Literal["mean", "sum"] = "mean"
    width: int = 5
    window: int = 128
    download: bool = False


def linker_named(name: str, kb: KnowledgeBase, options: LinkerOptions | None = None) -> Linker:
    """Return the linker of that name over a knowledge base.

    >>> from onym.kb import KnowledgeBase
    >>> linker_named("exact", KnowledgeBase.open(getfixture("tiny_kb"))).config["linker"]
    'exact'
    """
    if name == "exact":
        return ExactLinker(kb)
    if name == "tfidf":
        return TfidfLinker(kb)
    if name == "generative":
        return _generative(kb, options or LinkerOptions())
    raise ConfigError("linker-unknown", f"no linker is named {name!r}", fix=f"the names are {', '.join(LINKERS)}")


def _generative(kb: KnowledgeBase, options: LinkerOptions) -> Linker:
    from onym.text.template import template_named

    if not options.model:
        raise ConfigError("model-missing", "a generative linker needs a model", fix="name its folder with --model")
    try:
        from onym.decoding.search import SearchConfig
        from onym.linkers.generative import GenerativeConfig, GenerativeLinker
    except ImportError as e:
        raise missing_extra("a generative linker", "generative") from e
    search = SearchConfig(search=options.search, ranking=options.ranking, width=options.width, top_k=options.width)
    return GenerativeLinker.from_pretrained(
        Path(options.model) if Path(options.model).is_dir() else options.model,
        kb,
        tokenizer=options.tokenizer or None,
        template=template_named(options.template),
        settings=GenerativeConfig(window=options.window, search=search),
        download=options.download,
    )
