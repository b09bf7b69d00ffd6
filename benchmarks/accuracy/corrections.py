"""Apply generated rules to generated documents, and compare every answer with what the rules say; measure what rules cost.

A case is a document of known and unknown surfaces, some of them abbreviations that it defines, and up to eight rules of all
scopes. The expected answer of each place follows from the pipeline's answer without rules and from a list of scopes, which is
written here again. `unexpected` counts answers that differ. The pipeline (dictionary, exact match) links mentions one by one.

`cost_ratio` is CPU time of the starter with 10,000 rules, which match about every tenth surface, to that without rules: the
least of alternating runs over test documents of BC5CDR. `--quick` runs 300 cases and two short runs.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchmarks.report import data_folder
from onym.corpora.base import documents_of
from onym.corpora.corpus import read_corpus
from onym.corrections import NO_CONCEPT, NOT_A_MENTION, Corrections, Rule
from onym.kb import KnowledgeBase, Recipe, build_kb
from onym.methods.dictionary.detector import DictionaryDetector
from onym.methods.exact import ExactLinker
from onym.packs import load
from onym.pipeline import Pipeline
from onym.types import Document

UPPER_BOUNDS = MappingProxyType({"unexpected": 0})
FULL_BOUNDS = MappingProxyType({"cost_ratio": 1.05})
KNOWN = ("fever", "cough", "heart attack", "asthma", "stroke", "acute nephritis", "gout", "migraine")
UNKNOWN = ("swamp ache", "blue toe", "XQ", "xq", "zymosis")
SHORT = {"HA": "heart attack", "AN": "acute nephritis", "BT": "blue toe"}
WORDS = ("with", "after", "the patient had", "then", "no")
_RULES = 10_000
Answer = str | None
"""The concept, the reason of NIL after a tilde, or None if there is no mention."""
Answers = dict[tuple[int, int], Answer]


@dataclass(frozen=True)
class Token:
    """A surface at a place of a generated text."""

    start: int
    end: int
    surface: str


def make_text(generator: random.Random) -> tuple[str, list[Token], dict[str, str]]:
    """Return a text, its surfaces with their places, and the abbreviations that it defines."""
    parts: list[str] = []
    tokens: list[Token] = []
    size, defined = 0, dict(generator.sample(sorted(SHORT.items()), generator.randint(0, 2)))

    def put(text: str, *, is_surface: bool = False) -> None:
        nonlocal size
        if is_surface:
            tokens.append(Token(size, size + len(text), text))
        parts.append(text)
        size += len(text)

    put("Seen today: ")
    for short, long in defined.items():
        put(long, is_surface=True)
        put(" (")
        put(short, is_surface=True)
        put("). ")
    for _ in range(generator.randint(2, 6)):
        put(generator.choice(WORDS) + " ")
        surface = generator.choice([*KNOWN, *UNKNOWN, *SHORT])
        put(surface.upper() if len(surface) > 6 and generator.random() < 0.2 else surface, is_surface=True)
        put(". ")
    return "".join(parts), tokens, defined


def make_rules(generator: random.Random, tokens: Sequence[Token], ids: Sequence[str]) -> list[Rule]:
    """Return rules that do not contradict each other."""
    found: dict[tuple[Any, ...], Rule] = {}
    for _ in range(generator.randint(0, 8)):
        token = generator.choice(tokens)
        meaning = generator.choice([*ids[:4], NOT_A_MENTION, NO_CONCEPT])
        more: dict[str, Any] = generator.choice(
            [
                {},
                {"document": "7"},
                {"document": "8"},
                {"document": "7", "start": token.start, "end": token.end},
                {"expansion": SHORT.get(token.surface, "nothing")},
            ]
        )
        add = meaning != NOT_A_MENTION and generator.random() < 0.5
        rule = Rule(token.surface, meaning, add=add, **more)
        found.setdefault((fold(rule.surface), rule.document, rule.start, rule.expansion), rule)
    return list(found.values())


def fold(surface: str) -> str:
    """Return the form in which surfaces are compared: short ones as they are."""
    return surface if len(surface.replace(" ", "")) <= 4 else surface.lower()


def find_rule(rules: Sequence[Rule], token: Token, defined: dict[str, str]) -> Rule | None:
    """Return the rule that holds at a place, by the documented order."""
    own = [rule for rule in rules if fold(rule.surface) == fold(token.surface) and rule.document != "8"]
    long = defined.get(token.surface)
    orders = (
        [rule for rule in own if rule.start == token.start and rule.end == token.end],
        [rule for rule in own if rule.document and rule.start is None],
        [rule for rule in own if rule.expansion and rule.expansion == long],
        [rule for rule in own if not rule.document and not rule.expansion and long is None],
    )
    return next((found[0] for found in orders if found), None)


def expect(
    plain: dict[tuple[int, int], Answer], rules: Sequence[Rule], tokens: Sequence[Token], defined: dict[str, str]
) -> Any:
    """Return the expected answers by place."""
    expected = dict(plain)
    for token in tokens:
        place, rule = (token.start, token.end), find_rule(rules, token, defined)
        is_covered = place in plain or not any(start < token.end and token.start < end for start, end in plain)
        if rule is None or not is_covered or (place not in plain and not rule.add):
            continue
        expected[place] = {NOT_A_MENTION: None, NO_CONCEPT: "~corrected"}.get(rule.meaning, rule.meaning)
    return {place: answer for place, answer in expected.items() if answer is not None}


def link(pipeline: Pipeline, text: str) -> Answers:
    links = pipeline.link(Document("7", text)).links
    return {(each.mention.start, each.mention.end): each.concept_id or f"~{each.nil_reason}" for each in links}


def count_unexpected(cases: int, seed: int = 0) -> dict[str, int]:
    """Return the number of cases, answers that rules changed, and answers that differ from the expected ones."""
    generator = random.Random(seed)
    changed = unexpected = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = "".join(f"made:{number},{surface}\n" for number, surface in enumerate(KNOWN, 1))
        (folder / "made.csv").write_text(f"id,name\n{rows}")
        build_kb(Recipe.of({"sources": [{"path": "made.csv"}]}), folder / "kb", root=folder)
        kb = KnowledgeBase.open(folder / "kb")
        pipeline = Pipeline(ExactLinker(kb), DictionaryDetector(kb))
        for _ in range(cases):
            text, tokens, defined = make_text(generator)
            rules = make_rules(generator, tokens, list(kb.concept_ids))
            plain = link(pipeline, text)
            found = link(pipeline.with_corrections(Corrections(rules, kb)), text)
            expected = expect(plain, rules, tokens, defined)
            changed += sum(plain.get(place) != found.get(place) for place in {*plain, *found})
            unexpected += sum(expected.get(place) != found.get(place) for place in {*expected, *found})
    return {"cases": cases, "changed": changed, "unexpected": unexpected}


def measure_cost(documents: int, runs: int) -> dict[str, float]:
    """Return the ratio of CPU times with and without rules."""
    plain = load("starter")
    path = data_folder() / "bc5cdr" / "CDR_TestSet.PubTator.txt.gz"
    docs = [Document(doc.id, doc.text) for doc in islice(documents_of(read_corpus(path)), documents)]
    surfaces = {each.mention.surface for linked in plain.link_many(docs) for each in linked.links}
    generator = random.Random(0)
    kb, known = plain.kb, generator.sample(sorted(surfaces), max(1, len(surfaces) // 10))
    rules = {fold(surface): Rule(surface, kb.concept_ids[0]) for surface in known}
    for number in range(_RULES - len(rules)):
        rules[f"other {number}"] = Rule(f"no such surface {number}", kb.concept_ids[number], add=number % 2 == 0)
    corrected = plain.with_corrections(Corrections(rules.values(), kb))
    times: dict[bool, list[float]] = {False: [], True: []}
    for warm in (plain, corrected):  # the first run loads what later ones share
        list(warm.link_many(docs))
    for _ in range(runs):
        for is_corrected, pipeline in ((False, plain), (True, corrected)):
            began = time.process_time()
            for _linked in pipeline.link_many(docs):
                pass
            times[is_corrected].append(time.process_time() - began)
    ratio = min(times[True]) / min(times[False])  # other programs of the machine only make a run slower
    return {"rules": len(rules), "documents": documents, "cost_ratio": round(ratio, 3)}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cases", type=int, default=10_000, help="number of generated cases")


def run(options: argparse.Namespace) -> dict[str, Any]:
    cases = 300 if options.quick else options.cases
    return count_unexpected(cases) | measure_cost(*((10, 1) if options.quick else (100, 9)))
