"""The trie kept with a knowledge base: built on first use, opened ever after.

    KB/tries/<16 hex digits>/       an artefact, named by the digests of the knowledge base and the tokenizer, and the template

The versions of the knowledge base are not touched. Where its folder cannot be written, the trie is kept in the cache directory.
"""

from __future__ import annotations

from pathlib import Path

from onym.kb import KnowledgeBase
from onym.store.artefact.derived import Locations, find_derived, open_derived
from onym.trie.artefact import Origin, TrieArtefact, open_trie_artefact, write_trie
from onym.trie.packed import PackedTrie
from onym.trie.source import NameTemplate, TokenSource
from onym.types import Progress, silent

FOLDER = "tries"


def open_derived_trie(
    kb: KnowledgeBase,
    tokenizer: TokenSource,
    template: NameTemplate,
    *,
    progress: Progress = silent,
) -> PackedTrie:
    """Open the trie of a knowledge base; where there is none, or one that is torn or out of date, build it first.

    Of several processes that need it at once, one builds it and the others wait.
    """
    return open_derived_trie_artefact(kb, tokenizer, template, progress=progress).trie


def open_derived_trie_artefact(
    kb: KnowledgeBase,
    tokenizer: TokenSource,
    template: NameTemplate,
    *,
    progress: Progress = silent,
) -> TrieArtefact:
    """Open the trie of a knowledge base, as `open_derived_trie` does, with what its artefact says."""
    origin = Origin.of(kb, tokenizer, template)
    return open_derived(
        trie_locations(kb, origin),
        lambda path: open_trie_artefact(path, origin, verify=kb.verify),
        lambda stage, dest: write_trie(stage, dest, kb, tokenizer, template, progress=progress),
        waiting=lambda: progress("waiting for another process that builds the trie", 0),
    )


def trie_locations(kb: KnowledgeBase, origin: Origin) -> Locations:
    """Return where the trie of a knowledge base may be."""
    return Locations.of(kb.folder.parent, FOLDER, [origin.kb, origin.tokenizer, origin.template])


def find_tries(kb: KnowledgeBase) -> list[Path]:
    """Return the folders of the tries kept with a knowledge base, and those of its version in the cache directory."""
    return find_derived(kb.folder.parent, FOLDER, lambda path: open_trie_artefact(path).origin.kb == kb.digest)
