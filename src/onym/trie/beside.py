"""The trie kept beside a knowledge base: built on first use, opened ever after.

    KB/tries/<16 hex digits>/       an artefact, named by the digests of the knowledge base and the tokenizer, and the template

The versions of the knowledge base are not touched. Where its folder cannot be written, the trie is kept in the cache folder.
"""

from __future__ import annotations

import hashlib
import json
import time
from contextlib import ExitStack
from pathlib import Path

from onym.errors import ConfigError, IntegrityError
from onym.kb import KnowledgeBase
from onym.store.artefact import Stage, staging
from onym.store.verified import cache_folder
from onym.trie.artefact import Origin, Progress, open_trie, opened, write_trie
from onym.trie.packed import PackedTrie
from onym.trie.source import NameTemplate, TokenSource

FOLDER = "tries"
_WAIT = 0.2  # seconds between two looks at a trie that another process is building


def trie_beside(
    kb: KnowledgeBase,
    tokenizer: TokenSource,
    template: NameTemplate,
    *,
    progress: Progress = lambda _what, _names: None,
) -> PackedTrie:
    """Open the trie of a knowledge base, and build it first where there is none, or one that is torn or out of date.

    Of several processes that need it at once, one builds it and the others wait.
    """
    origin = Origin.of(kb, tokenizer, template)
    return open_trie(kept_beside(kb, tokenizer, template, progress=progress), origin)


def kept_beside(
    kb: KnowledgeBase,
    tokenizer: TokenSource,
    template: NameTemplate,
    *,
    progress: Progress = lambda _what, _names: None,
) -> Path:
    """Return the folder of the trie that is kept for a knowledge base, having built it there if need be."""
    origin = Origin.of(kb, tokenizer, template)
    places = places_of(kb, origin)
    while True:
        if found := _sound(places, origin):
            return found
        with ExitStack() as stack:
            try:
                stage, dest = _held(stack, places)
            except IntegrityError as e:
                if e.code != "artefact-locked":
                    raise
                progress("waiting for another process that builds the trie", 0)
                time.sleep(_WAIT)
                continue
            if not _sound((dest,), origin):  # else another process was quicker
                write_trie(stage, dest, kb, tokenizer, template, progress=progress)
            return dest


def places_of(kb: KnowledgeBase, origin: Origin) -> tuple[Path, Path]:
    """Return where the trie of a knowledge base may be: beside it, or in the cache folder."""
    key = hashlib.sha256(json.dumps([origin.kb, origin.tokenizer, origin.template]).encode()).hexdigest()[:16]
    return kb.folder.parent / FOLDER / key, cache_folder() / FOLDER / key


def tries_of(kb: KnowledgeBase) -> list[Path]:
    """Return the folders of the tries that are kept beside a knowledge base, and those of its version in the cache folder."""
    beside = [pointer.parent for pointer in sorted(kb.folder.parent.glob(f"{FOLDER}/*/CURRENT"))]
    cached = [pointer.parent for pointer in sorted(cache_folder().glob(f"{FOLDER}/*/CURRENT"))]
    return beside + [place for place in cached if _is_of(place, kb)]


def _is_of(place: Path, kb: KnowledgeBase) -> bool:
    try:
        return opened(place)[1].kb == kb.digest
    except IntegrityError:
        return False


def _sound(places: tuple[Path, ...], origin: Origin) -> Path | None:
    for place in places:
        try:
            open_trie(place, origin)
        except IntegrityError:  # missing, torn, of another format: a trie can always be built again
            continue
        return place
    return None


def _held(stack: ExitStack, places: tuple[Path, Path]) -> tuple[Stage, Path]:
    """Hold the first place that can be written."""
    beside, cached = places
    try:
        return stack.enter_context(staging(beside)), beside
    except ConfigError:
        return stack.enter_context(staging(cached)), cached
