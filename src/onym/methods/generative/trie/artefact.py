"""The trie on disk: its columns, and a manifest with its knowledge base, tokenizer and template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from onym.errors import IntegrityError
from onym.kb import KnowledgeBase
from onym.methods.generative.trie.guard import require_sound
from onym.methods.generative.trie.packed import Columns, PackedTrie, token_type
from onym.store.arrays import Ragged
from onym.store.artefact import Artefact, Manifest
from onym.store.cache import Verify
from onym.store.derived import Locations, describe_derived, find_derived, open_derived
from onym.store.stage import Record, Stage, staging
from onym.types import Progress, silent


class TokenSource(Protocol):
    """A tokenizer. Tokenizers with the same digest produce the same tokens for any text."""

    digest: str
    vocabulary: int
    eos: int

    def ids_of(self, texts: Sequence[str]) -> Ragged:
        """Return the token ids of texts, without special tokens."""


class NameTemplate(Protocol):
    """A template that formats names. Templates with the same name produce the same output."""

    @property
    def name(self) -> str:
        """The name of the template."""

    def name_text(self, name: str) -> str:
        """Return the text to tokenise for a name of the knowledge base."""


KIND, FORMAT = "trie", 1
BATCH = 100_000  # names tokenised per batch


class Origin(BaseModel):
    """The inputs from which a trie was built. Stored as `config` in the trie's manifest."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kb: str
    names: int = Field(ge=0)  # the number of names in the knowledge base
    tokenizer: str
    template: str
    eos: int = Field(ge=0)
    vocabulary: int = Field(ge=1)

    @classmethod
    def of(cls, kb: KnowledgeBase, tokenizer: TokenSource, template: NameTemplate) -> Origin:
        """Return the origin of a trie built from this knowledge base, tokenizer and template."""
        return cls(
            kb=kb.digest,
            names=len(kb.names),
            tokenizer=tokenizer.digest,
            template=template.name,
            eos=tokenizer.eos,
            vocabulary=tokenizer.vocabulary,
        )


def build_trie(
    kb: KnowledgeBase,
    tokenizer: TokenSource,
    template: NameTemplate,
    dest: Path,
    *,
    progress: Progress = silent,
) -> Manifest:
    """Build the trie of all names of a knowledge base at `dest`."""
    with staging(dest) as stage:
        return write_trie(stage, dest, kb, tokenizer, template, progress=progress)


def write_trie(
    stage: Stage, dest: Path, kb: KnowledgeBase, tokenizer: TokenSource, template: NameTemplate, *, progress: Progress
) -> Manifest:
    """Tokenise the names, build the trie, and publish it from a locked stage."""
    kb.require_intact()
    tokens = _tokenise_names(kb, tokenizer, template, progress)
    progress("building the trie", len(kb.names))
    trie = PackedTrie.build(tokens, tokenizer.eos, tokenizer.vocabulary)
    progress("writing", len(kb.names))
    for name, column in trie.columns._asdict().items():
        stage.write_array(name, column)
    counts = {"names": len(trie.names), "nodes": trie.node_count, "max_name_tokens": max(0, int(trie.height[0]) - 1)}
    config = Origin.of(kb, tokenizer, template).model_dump(mode="json")
    return stage.publish(dest, KIND, FORMAT, Record(config, [], counts))


def open_trie(folder: Path | str, expected: Origin | None = None, *, verify: Verify = "once") -> PackedTrie:
    """Open a trie; raise IntegrityError if its origin is not `expected`.

    File digests are verified on first use on a machine or, with `verify="full"`, on every call.
    """
    return open_trie_artefact(folder, expected, verify=verify).trie


class TrieArtefact(NamedTuple):
    """An open trie with its origin and artefact."""

    trie: PackedTrie
    origin: Origin
    artefact: Artefact


def open_trie_artefact(folder: Path | str, expected: Origin | None = None, *, verify: Verify = "once") -> TrieArtefact:
    """Like `open_trie`, but also return the trie's origin and artefact."""
    artefact = Artefact.open(Path(folder), KIND, FORMAT, verify)
    where = str(artefact.folder.parent)
    origin = _origin(artefact.manifest, where)
    _require_expected(origin, expected, where)
    columns = Columns(*(artefact.array(name) for name in Columns._fields))
    trie = PackedTrie(columns, origin.eos, origin.vocabulary, artefact.digest, kb_names=origin.names)
    if artefact.is_new_here:
        require_sound(trie, origin.names, where)
        artefact.remember()
    return TrieArtefact(trie, origin, artefact)


def _origin(manifest: Manifest, where: str) -> Origin:
    try:
        return Origin.model_validate(manifest.config, strict=True)
    except ValidationError as e:
        what = "the manifest has an invalid description of the trie"
        raise IntegrityError("artefact-corrupt", what, where=where, fix="rebuild the trie") from e


def _require_expected(found: Origin, expected: Origin | None, where: str) -> None:
    if expected is None or found == expected:
        return
    named = {"kb": "knowledge base", "tokenizer": "tokenizer", "template": "template"}
    other = [name for field, name in named.items() if getattr(found, field) != getattr(expected, field)]
    what = f"the trie was built for another {' and another '.join(other or ['end token or vocabulary'])}"
    fix = "build the trie again with onym trie build"
    raise IntegrityError("trie-mismatch", what, where=where, fix=fix)


def _tokenise_names(kb: KnowledgeBase, tokenizer: TokenSource, template: NameTemplate, progress: Progress) -> Ragged:
    small = token_type(tokenizer.vocabulary)
    values: list[npt.NDArray[Any]] = []
    lengths: list[npt.NDArray[Any]] = []
    for start in range(0, len(kb.names), BATCH):
        end = min(start + BATCH, len(kb.names))
        progress("tokenising names", start)
        found = tokenizer.ids_of([template.name_text(kb.names[i]) for i in range(start, end)])
        values.append(_narrow_dtype(found.values, small))
        lengths.append(np.diff(found.offsets.astype(np.int64)))
    offsets = np.zeros(len(kb.names) + 1, dtype=np.int64)
    np.cumsum(np.concatenate(lengths), out=offsets[1:])
    return Ragged(offsets, np.concatenate(values))


def _narrow_dtype(tokens: npt.NDArray[Any], small: np.dtype[Any]) -> npt.NDArray[Any]:
    """Convert tokens to a smaller dtype. If a token does not fit, return all tokens unchanged; `grow` rejects them."""
    fits = not len(tokens) or 0 <= int(tokens.min()) <= int(tokens.max()) <= np.iinfo(small).max
    return tokens.astype(small) if fits else tokens


FOLDER = "tries"


def open_derived_trie(
    kb: KnowledgeBase,
    tokenizer: TokenSource,
    template: NameTemplate,
    *,
    progress: Progress = silent,
) -> PackedTrie:
    """Open the trie stored with a knowledge base; build it first if it is missing, corrupt or outdated.

    If several processes need the trie at once, one builds it and the others wait.
    """
    return open_derived_trie_artefact(kb, tokenizer, template, progress=progress).trie


def open_derived_trie_artefact(
    kb: KnowledgeBase,
    tokenizer: TokenSource,
    template: NameTemplate,
    *,
    progress: Progress = silent,
) -> TrieArtefact:
    """Like `open_derived_trie`, but also return the trie's origin and artefact."""
    origin = Origin.of(kb, tokenizer, template)
    return open_derived(
        trie_locations(kb, origin),
        lambda path: open_trie_artefact(path, origin, verify=kb.verify),
        lambda stage, dest: write_trie(stage, dest, kb, tokenizer, template, progress=progress),
        waiting=lambda: progress("waiting for another process that builds the trie", 0),
    )


def trie_locations(kb: KnowledgeBase, origin: Origin) -> Locations:
    """Return the possible locations of the trie of a knowledge base."""
    return Locations.of(kb.folder.parent, FOLDER, [origin.kb, origin.tokenizer, origin.template])


def find_tries(kb: KnowledgeBase) -> list[Path]:
    """Return the folders of the knowledge base's tries, both in its own folder and in the cache directory."""
    return find_derived(kb.folder.parent, FOLDER, lambda path: open_trie_artefact(path).origin.kb == kb.digest)


_BOUNDS = (2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class Shape:
    """Statistics of a trie, shown by `onym trie info`. Lengths of names do not count the end token."""

    names: int
    nodes: int
    bytes: int
    bytes_per_node: float
    max_name_tokens: int
    widest_node: int
    only_children: int
    nodes_by_depth: tuple[int, ...]
    names_by_tokens: dict[str, int]


def shape_of(trie: PackedTrie) -> Shape:
    """Compute the statistics of a trie.

    >>> from onym.store.arrays import Ragged
    >>> shape = shape_of(PackedTrie.build(Ragged(np.array([0, 1, 4]), np.array([7, 7, 8, 9])), eos=2, vocabulary=10))
    >>> shape.nodes_by_depth, shape.names_by_tokens, shape.only_children
    ((1, 1, 2, 1, 1), {'0-2': 1, '3-4': 1}, 3)
    """
    nodes_by_depth, names_by_depth = _by_depth(trie)
    widths = np.diff(trie.first)
    return Shape(
        names=len(trie.names),
        nodes=trie.node_count,
        bytes=trie.nbytes,
        bytes_per_node=round(trie.nbytes / trie.node_count, 2),
        max_name_tokens=max(0, int(trie.height[0]) - 1),
        widest_node=int(widths.max()),
        only_children=int((widths == 1).sum()),
        nodes_by_depth=tuple(nodes_by_depth),
        names_by_tokens=_in_short(names_by_depth),
    )


def _by_depth(trie: PackedTrie) -> tuple[list[int], list[int]]:
    """Return two lists by depth: the number of nodes, and the number of names that end there."""
    nodes, names = [], []
    start, end = 0, 1
    while start < end:
        nodes.append(end - start)
        is_leaf = trie.first[start:end] == trie.first[start + 1 : end + 1]
        names.append(int((trie.high[start:end] - trie.low[start:end])[is_leaf].sum()))
        start, end = int(trie.first[start]), int(trie.first[end])
    return nodes, names


def _in_short(names_by_depth: list[int]) -> dict[str, int]:
    """Return a histogram of name lengths in tokens; a name that ends at depth *d* has *d* - 1 tokens."""
    found, start = {}, 0
    for end in (*_BOUNDS, len(names_by_depth)):
        if count := sum(names_by_depth[start + 1 : end + 2]):
            found[f"{start}-{end}" if end in _BOUNDS else f"{start}-"] = count
        start = end + 1
    return found


def info(folder: Path) -> list[dict[str, Any]]:
    """Describe the trie at `folder`. If `folder` is a knowledge base, describe each of its tries."""
    return describe_derived(folder, "trie", _info, lambda kb: find_tries(KnowledgeBase.open(kb)))


def _info(folder: Path) -> dict[str, Any]:
    trie, origin, _ = open_trie_artefact(folder, verify="full")  # verified in full, because `shape_of` reads every node
    return {"folder": str(folder), "digest": trie.digest, **origin.model_dump(), **asdict(shape_of(trie))}
