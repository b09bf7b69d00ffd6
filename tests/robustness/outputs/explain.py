"""Check that explanations are faithful: remove the name that matched from the knowledge base, and link the mention again.

links                number of annotated diseases that the starter's reranker linked and explained
changed              answers that change when the name that matched is removed
unfaithful           answers that stay the same although the explanation gives no other reason, plus reasons that are false
constant_unfaithful  `unfaithful` for explanations that contain only the matched name; if the check works, it is larger than 0

The knowledge base is rebuilt without the names of a hundred links at a time, at most one per concept.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from benchmarks.report import data_folder
from benchmarks.starter import RECIPE

from onym.datasets.prepared import open_dataset
from onym.kb import KnowledgeBase, Recipe, build_kb
from onym.methods import linker_config, open_linker
from onym.methods.reranker.linker import RerankLinker
from onym.packs import load
from onym.packs.locate import STARTER, locate
from onym.parts import OpenContext
from onym.pipeline import Pipeline
from onym.pipeline.explanation import Explanation
from onym.store.files.source import InputFile, Source
from onym.text.normal import normal_name
from onym.types import Document
from tests.support.linking import link_with

UPPER_BOUNDS = {"unfaithful": 0}
LOWER_BOUNDS = {"constant_unfaithful": 1}
_LINKS, _QUICK, _GROUP = 1_000, 30, 100
_MATCHED = ("same-name", "similar-name")


class Explained(NamedTuple):
    """A document with one mention, its answer, and the explanation."""

    document: Document
    concept_id: str
    explanation: Explanation


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--links", type=int, default=_LINKS, help="number of links to explain")


def run(options: argparse.Namespace) -> dict[str, object]:
    starter = load(STARTER).without_detector()
    wanted = _QUICK if options.quick else options.links
    explained = list(_iter_explained(starter, wanted))
    changed = unfaithful = constant = 0
    for group in _groups(explained):
        answers = _without_names(group)
        for each, answer in zip(group, answers, strict=True):
            others = [reason for reason in each.explanation.evidence.reasons if reason.kind not in _MATCHED]
            is_changed = answer != each.concept_id
            changed += is_changed
            constant += not is_changed
            unfaithful += (not is_changed and not others) or not _is_true(each, starter)
    figures = {"links": len(explained), "changed": changed, "unfaithful": unfaithful}
    return {**figures, "constant_unfaithful": constant}


def _iter_explained(pipeline: Pipeline, wanted: int) -> Iterator[Explained]:
    """Yield links of different mentions."""
    seen: set[str] = set()
    for split in ("dev", "test"):
        for name in ("bc5cdr", "ncbi-disease"):
            for doc in open_dataset(name, data_folder()).documents(split):
                for mention in doc.mentions:
                    text = mention.surface.casefold()
                    if len(seen) == wanted:
                        return
                    if mention.type == "Chemical" or text in seen:
                        continue
                    one = replace(doc, id=f"{doc.id}-{mention.start}", mentions=(replace(mention, concept_ids=(), notes=()),))
                    (explanation,) = pipeline.explain(one)
                    if explanation.link.concept_id is not None:
                        seen.add(text)
                        yield Explained(one, explanation.link.concept_id, explanation)


def _groups(explained: Sequence[Explained]) -> Iterator[list[Explained]]:
    """Yield links in groups with at most one link per concept."""
    waiting = list(explained)
    while waiting:
        group: dict[str, Explained] = {}
        rest = []
        for each in waiting:
            if each.concept_id in group or len(group) == _GROUP:
                rest.append(each)
            else:
                group[each.concept_id] = each
        yield list(group.values())
        waiting = rest


def _without_names(group: Sequence[Explained]) -> list[str | None]:
    """Link the mentions again with a knowledge base without the names that matched."""
    removed = {each.concept_id: each.explanation.link.candidates[0].name for each in group}
    recipe = Recipe.from_toml(RECIPE)
    path = recipe.sources[0].path
    with tempfile.TemporaryDirectory() as name:
        kb = Path(name) / "kb"
        build_kb(recipe, kb, root=data_folder(), sources={path: _release(path, removed)})
        config = linker_config("rerank", model=locate(STARTER) / "reranker")
        linker = open_linker(config, KnowledgeBase.open(kb), OpenContext())
        linked = link_with(linker, [each.document for each in group], top_k=1)
        return [each.links[0].concept_id for each in linked]


def _release(path: str, removed: dict[str, str]) -> Source:
    """Return the MONDO release without the `removed` names (concept id -> name); concepts without names become deprecated."""
    file = InputFile.from_path(data_folder() / path)
    with file.open() as stream:
        terms = json.loads(stream.read())
    for concept_id, name in removed.items():
        term = terms[concept_id.upper()]
        names = [each for each in dict.fromkeys([term["label"], *term.get("synonyms", ())]) if normal_name(each) != name]
        if names:
            term["label"], term["synonyms"] = names[0], names[1:]
        else:
            term["deprecated"] = True
    return Source.of_files(path, [InputFile.from_bytes(Path(path).name.removesuffix(".zst"), json.dumps(terms).encode())])


def _is_true(each: Explained, pipeline: Pipeline) -> bool:
    """Return whether all reasons are true: names belong to the concept, and memory entries exist."""
    kb, linker = pipeline.kb, pipeline.linker
    assert isinstance(linker, RerankLinker)
    names = {kb.names[int(row)] for row in kb.names_of(kb.concept_ids.find(each.concept_id))}
    for reason in each.explanation.evidence.reasons:
        if reason.kind == "memory" and not linker.reranker.memory.entries(reason.text):
            return False
        if reason.kind in (*_MATCHED, "other-name") and reason.text not in names:
            return False
    return True
