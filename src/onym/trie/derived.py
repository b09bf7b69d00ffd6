"""The trie kept beside a knowledge base: built on first use, opened ever after.

    KB/tries/<16 hex digits>/       an artefact, named by the digests of the knowledge base and the tokenizer, and the template

The versions of the knowledge base are not touched. Where its folder cannot be written, the trie is kept in the cache folder.
"""

from __future__ import annotations

from pathlib import Path

from onym.kb import KnowledgeBase
from onym.store.artefact import derived as beside
from onym.trie.artefact import Origin, Progress, open_trie, opened, write_trie
from onym.trie.packed import PackedTrie
from onym.trie.source import NameTemplate, TokenSource

FOLDER = "tries"


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
    return beside.kept(
        places_of(kb, origin),
        lambda place: open_trie(place, origin),
        lambda stage, dest: write_trie(stage, dest, kb, tokenizer, template, progress=progress),
        waiting=lambda: progress("waiting for another process that builds the trie", 0),
    )


def places_of(kb: KnowledgeBase, origin: Origin) -> tuple[Path, Path]:
    """Return where the trie of a knowledge base may be: beside it, or in the cache folder."""
    return beside.places_of(kb.folder.parent, FOLDER, [origin.kb, origin.tokenizer, origin.template])


def tries_of(kb: KnowledgeBase) -> list[Path]:
    """Return the folders of the tries that are kept beside a knowledge base, and those of its version in the cache folder."""
    return beside.all_beside(kb.folder.parent, FOLDER, lambda place: opened(place)[1].kb == kb.digest)
