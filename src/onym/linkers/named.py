"""Linkers by the names that people call them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from onym.errors import ConfigError, missing_extra
from onym.index.kinds import AUTO
from onym.index.source import Progress, silent
from onym.linkers.base import Linker
from onym.linkers.lexical import ExactLinker, TfidfLinker
from onym.linkers.settings import read_settings
from onym.store.models import folder_of

if TYPE_CHECKING:
    from onym.kb import KnowledgeBase
    from onym.linkers.generative import GenerativeLinker

LINKERS = ("exact", "tfidf", "dense", "generative", "collective", "cascade")


@dataclass(frozen=True, slots=True)
class LinkerOptions:
    """What a linker with a model may be told. `model` and `tokenizer` are folders, or names on the hub with `download`.

    Of `template`, `search`, `ranking` and `window` those that are not given are the model's own. `index` is for a dense or a
    collective linker. A cascade has its dense part by `encoder`, and its generative one by `model`.
    """

    model: str = ""
    tokenizer: str = ""
    template: str = ""
    search: Literal["", "beam", "exact"] = ""
    ranking: Literal["", "mean", "sum"] = ""
    width: int = 5
    window: int = 0
    download: bool = False
    index: str = AUTO
    encoder: str = ""


def linker_named(name: str, kb: KnowledgeBase, options: LinkerOptions | None = None, *, progress: Progress = silent) -> Linker:
    """Return the linker of that name over a knowledge base.

    `progress` is told of what is built for it on first use: the index of all names, or the trie.

    >>> from onym.kb import KnowledgeBase
    >>> linker_named("exact", KnowledgeBase.open(getfixture("tiny_kb"))).config["linker"]
    'exact'
    """
    if name == "exact":
        return ExactLinker(kb)
    if name == "tfidf":
        return TfidfLinker(kb)
    if name == "dense":
        return _dense(kb, options or LinkerOptions(), progress)
    if name == "generative":
        return _generative(kb, options or LinkerOptions(), progress)
    if name == "collective":
        return _collective(kb, options or LinkerOptions(), progress)
    if name == "cascade":
        return _cascade(kb, options or LinkerOptions(), progress)
    raise ConfigError("linker-unknown", f"no linker is named {name!r}", fix=f"the names are {', '.join(LINKERS)}")


def _cascade(kb: KnowledgeBase, options: LinkerOptions, progress: Progress) -> Linker:
    from onym.linkers.cascade import CascadeLinker

    if not options.model and not options.encoder:
        what = "a cascade needs an encoder, a generative model or both"
        raise ConfigError("model-missing", what, fix="name folders with --encoder and --model")
    return CascadeLinker(
        exact=ExactLinker(kb),
        dense=_dense(kb, replace(options, model=options.encoder), progress) if options.encoder else None,
        generative=_generative(kb, options, progress) if options.model else None,
    )


def _dense(kb: KnowledgeBase, options: LinkerOptions, progress: Progress) -> Linker:
    _require_model(options, "a dense linker needs an encoder")
    try:
        from onym.linkers.dense import DenseLinker
    except ImportError as e:
        raise missing_extra("a dense linker", "dense") from e
    return DenseLinker.from_pretrained(options.model, kb, kind=options.index, download=options.download, progress=progress)


def _collective(kb: KnowledgeBase, options: LinkerOptions, progress: Progress) -> Linker:
    _require_model(options, "a collective linker needs a model")
    try:
        from onym.linkers.collective import CollectiveLinker
    except ImportError as e:
        raise missing_extra("a collective linker", "dense") from e
    folder = folder_of(options.model, download=options.download)
    return CollectiveLinker.from_pretrained(folder, kb, kind=options.index, progress=progress)


def _generative(kb: KnowledgeBase, options: LinkerOptions, progress: Progress) -> GenerativeLinker:
    from onym.text.template import template_named

    _require_model(options, "a generative linker needs a model")
    try:
        from onym.linkers.generative import GenerativeConfig, GenerativeLinker
    except ImportError as e:
        raise missing_extra("a generative linker", "generative") from e
    template = template_named(options.template) if options.template else None
    model = Path(options.model) if Path(options.model).is_dir() else options.model
    changes = {name: getattr(options, name) or None for name in ("search", "ranking", "window")}
    own = read_settings(folder_of(model, download=options.download)).changed(**changes)
    return GenerativeLinker.from_pretrained(
        model,
        kb,
        tokenizer=options.tokenizer or None,
        template=template,
        settings=GenerativeConfig.of(own, options.width),
        download=options.download,
        progress=progress,
    )


def _require_model(options: LinkerOptions, what: str) -> None:
    if not options.model:
        raise ConfigError("model-missing", what, fix="name its folder with --model")
