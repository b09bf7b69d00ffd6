"""The trie on disk: its columns, and of which knowledge base, tokenizer and template it was made."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from onym.errors import IntegrityError
from onym.kb import KnowledgeBase
from onym.store.artefact.arrays import Ragged
from onym.store.artefact.manifest import Manifest
from onym.store.artefact.reader import Artefact
from onym.store.artefact.stage import Record, Stage, staging
from onym.store.verify import Verify
from onym.trie.columns import Columns, token_type
from onym.trie.packed import PackedTrie
from onym.trie.soundness import require_sound
from onym.trie.source import NameTemplate, TokenSource
from onym.types import Progress, silent

KIND, FORMAT = "trie", 1
BATCH = 100_000  # names tokenised at once


class Origin(BaseModel):
    """What a trie was made of; the `config` of its manifest."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kb: str
    names: int = Field(ge=0)  # of the knowledge base
    tokenizer: str
    template: str
    eos: int = Field(ge=0)
    vocabulary: int = Field(ge=1)

    @classmethod
    def of(cls, kb: KnowledgeBase, tokenizer: TokenSource, template: NameTemplate) -> Origin:
        """Return what the trie of these would be made of."""
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
    """Tokenise the names, grow the trie, and publish it from a stage that is held already."""
    kb.require_intact()
    tokens = _tokenised(kb, tokenizer, template, progress)
    progress("growing the trie", len(kb.names))
    trie = PackedTrie.build(tokens, tokenizer.eos, tokenizer.vocabulary)
    progress("writing", len(kb.names))
    for name, column in trie.columns._asdict().items():
        stage.write_array(name, column)
    counts = {"names": len(trie.names), "nodes": trie.node_count, "max_name_tokens": max(0, int(trie.height[0]) - 1)}
    config = Origin.of(kb, tokenizer, template).model_dump(mode="json")
    return stage.publish(dest, KIND, FORMAT, Record(config, [], counts))


def open_trie(folder: Path | str, expected: Origin | None = None, *, verify: Verify = "once") -> PackedTrie:
    """Open a trie, which must be of what is expected; the first time on a machine, every byte of it is verified.

    With `verify="full"` that is done each time.
    """
    return open_trie_artefact(folder, expected, verify=verify).trie


class TrieArtefact(NamedTuple):
    """A trie that is open, what it was made of, and the artefact that holds it."""

    trie: PackedTrie
    origin: Origin
    artefact: Artefact


def open_trie_artefact(folder: Path | str, expected: Origin | None = None, *, verify: Verify = "once") -> TrieArtefact:
    """Open a trie, as `open_trie` does, with what its artefact says."""
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
        what = "the manifest does not say what the trie was made of"
        raise IntegrityError("artefact-corrupt", what, where=where, fix="build it again") from e


def _require_expected(found: Origin, expected: Origin | None, where: str) -> None:
    if expected is None or found == expected:
        return
    named = {"kb": "knowledge base", "tokenizer": "tokenizer", "template": "template"}
    other = [name for field, name in named.items() if getattr(found, field) != getattr(expected, field)]
    what = f"the trie was built for another {' and another '.join(other or ['end token or vocabulary'])}"
    fix = "build it again for these with onym trie build"
    raise IntegrityError("trie-mismatch", what, where=where, fix=fix)


def _tokenised(kb: KnowledgeBase, tokenizer: TokenSource, template: NameTemplate, progress: Progress) -> Ragged:
    small = token_type(tokenizer.vocabulary)
    values: list[npt.NDArray[Any]] = []
    lengths: list[npt.NDArray[Any]] = []
    for start in range(0, len(kb.names), BATCH):
        end = min(start + BATCH, len(kb.names))
        progress("tokenising names", start)
        found = tokenizer.ids_of([template.name_text(kb.names[i]) for i in range(start, end)])
        values.append(_narrowed(found.values, small))
        lengths.append(np.diff(found.offsets.astype(np.int64)))
    offsets = np.zeros(len(kb.names) + 1, dtype=np.int64)
    np.cumsum(np.concatenate(lengths), out=offsets[1:])
    return Ragged(offsets, np.concatenate(values))


def _narrowed(tokens: npt.NDArray[Any], small: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return tokens in fewer bytes, but as they are where one does not fit: growing the trie then refuses it."""
    fits = not len(tokens) or 0 <= int(tokens.min()) <= int(tokens.max()) <= np.iinfo(small).max
    return tokens.astype(small) if fits else tokens
