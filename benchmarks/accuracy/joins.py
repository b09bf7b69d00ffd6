"""Count the merged concepts of the open knowledge base by rule, and measure the precision of merging.

Precision is measured for merges by name and by shared id, on concepts whose cross-references were hidden from the build.
Names contradict a merge if the name of one concept belongs to another concept of its partner's vocabulary, and not to the
partner. Such merges are counted in two knowledge bases, built with and without `refuse_misnamed`. For each, also counts the dev
mentions whose gold id is in the knowledge base, and those whose surface is a name of the gold concept. `--write` stores the
refused merges in results/joins/refused.tsv. `--quick` leaves out the supplementary records, which are most of the chemicals.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

import polars as pl

from benchmarks.accuracy.kb_open import make_joined_recipe
from benchmarks.report import data_folder
from onym.datasets import open_dataset
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.curie import prefix_of
from onym.kb.export import join_frame
from onym.kb.gather import Gathered, decide, gather
from onym.kb.joins import JoinRule, orient_pairs
from onym.kb.recipe import Recipe
from onym.text.normal import word_key
from onym.types import Mention, NameKind

LOWER_BOUNDS = MappingProxyType({"held_out_precision": 0.98})
UPPER_BOUNDS = MappingProxyType({"fused_in_one_source": 0, "fused_wrong": 0})
DATASETS = ("ncbi-disease", "bc5cdr", "biored")
REFUSED = Path(__file__).parents[2] / "results" / "joins" / "refused.tsv"
_QUICK_FOLDS = 2
_EXAMPLES = 5


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--write", action="store_true", help=f"store the refused merges in {REFUSED.name}")


def run(options: argparse.Namespace) -> dict[str, object]:
    recipe = make_joined_recipe(quick=options.quick)
    found = gather(recipe, data_folder(), lambda _what, _rows: None)
    decisions = decide(found, recipe, found.successors.frame())
    joins = decisions.identity.joins
    refused = add_names(decisions.identity.misnamed, found)
    if options.write:
        REFUSED.parent.mkdir(exist_ok=True)
        refused.write_csv(REFUSED, separator="\t")
    judged = judge_held_out_joins(found, recipe, _QUICK_FOLDS if options.quick else FOLDS)
    return {
        **measure_builds(recipe, found, DATASETS[:1] if options.quick else DATASETS),
        "refused": refused.height,
        "refused_examples": [" | ".join(row) for row in refused.head(_EXAMPLES).iter_rows()],
        "joined": by_rule(joins),
        "joined_in_all": joins.height,
        "fused_in_one_source": count_fused_in_one_source(joins),
        "held_out_precision": precision(judged),
        "held_out_joins": judged.height,
        "held_out_joins_by_rule": by_rule(judged),
        "held_out_right_by_rule": by_rule(judged.filter("is_right")),
    }


def by_rule(joins: pl.DataFrame) -> dict[str, int]:
    """Count merges by vocabulary and rule."""
    rows = joins.select(prefix_of("concept"), "rule").iter_rows()
    return {f"{prefix} {JoinRule(rule).label}": count for (prefix, rule), count in sorted(Counter(rows).items())}


def count_fused_in_one_source(joins: pl.DataFrame) -> int:
    """Count the concepts with two ids of the same vocabulary."""
    members = pl.concat([joins.select("final", "concept"), joins.select("final", concept="final").unique()])
    return members.filter(pl.len().over("final", prefix_of("concept")) > 1)["final"].n_unique()


def precision(judged: pl.DataFrame) -> float:
    """Return the share of merges that are right."""
    return round(float(judged["is_right"].sum()) / max(1, judged.height), 4)


# Merges, evaluated by cross-references that were hidden from the build.

FOLDS = 5
_BEYOND_XREFS = [int(JoinRule.SHARED_ID), int(JoinRule.NAME)]


def judge_held_out_joins(found: Gathered, recipe: Recipe, folds: int = FOLDS) -> pl.DataFrame:
    """Return the merges that can be evaluated, with the columns concept, final, rule, is_right."""
    return pl.concat([_select_judgeable(_joins(found, recipe, xrefs), hidden) for xrefs, hidden in _folds(found, folds)])


def _folds(found: Gathered, folds: int) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield, per fold, the visible cross-references, and the hidden ones as pairs of concept ids (columns low, high)."""
    ids = found.ids.column().unique(maintain_order=True).to_frame("id")
    ranks = ids.select(prefix=prefix_of("id")).unique(maintain_order=True).with_row_index("rank")
    xrefs = found.xrefs.frame().unique()
    between = xrefs.join(ids, left_on="concept", right_on="id", how="semi").join(ids, left_on="xref", right_on="id", how="semi")
    pairs = orient_pairs(between.with_columns(a="concept", b="xref"), ranks)
    dealt = pairs.with_columns(fold=pl.Series([_fold(low, folds) for low in pairs["low"]], dtype=pl.UInt8))
    for fold in range(folds):
        hidden = dealt.filter(pl.col("fold") == fold)
        yield xrefs.join(hidden, on=["concept", "xref"], how="anti"), hidden.select("low", "high").unique()


def _fold(concept_id: str, folds: int) -> int:
    return hashlib.sha256(concept_id.encode()).digest()[0] % folds


def _joins(found: Gathered, recipe: Recipe, xrefs: pl.DataFrame) -> pl.DataFrame:
    """Return the merges made by rules that need no direct cross-reference between the two concepts."""
    found.decided, found.dropped = Counter(), Counter()
    joins = decide(found, recipe, found.successors.frame(), xrefs).identity.joins
    return joins.filter(pl.col("rule").is_in(_BEYOND_XREFS))


def _select_judgeable(joins: pl.DataFrame, hidden: pl.DataFrame) -> pl.DataFrame:
    """Keep only merges that can be judged: a cross-reference from one concept to the other's vocabulary was hidden."""
    ends = joins.with_columns(low_prefix=prefix_of("concept"), high_prefix=prefix_of("final"))
    lost = hidden.with_columns(low_prefix=prefix_of("low"), high_prefix=prefix_of("high"))
    low = ends.join(lost, left_on=["concept", "high_prefix"], right_on=["low", "high_prefix"], how="semi")
    high = ends.join(lost, left_on=["final", "low_prefix"], right_on=["high", "low_prefix"], how="semi")
    judged = pl.concat([low, high]).unique()
    said = hidden.select(concept="low", final="high", is_right=pl.lit(value=True))
    judged = judged.join(said, on=["concept", "final"], how="left")
    return judged.select("concept", "final", "rule", pl.col("is_right").fill_null(value=False))


# Merges that names contradict, and their effect on the gold mentions of dev sets.


def add_names(refused: pl.DataFrame, found: Gathered) -> pl.DataFrame:
    """Add the first preferred name of the partner and of the concept that bears the name."""
    names = Names(found)
    columns = {f"{end}_name": [names.first[concept] for concept in refused[end]] for end in ("other", "bearer")}
    table = refused.with_columns(**{name: pl.Series(values, dtype=pl.String) for name, values in columns.items()})
    return table.select("concept", "name", "other", "other_name", "bearer", "bearer_name").sort("concept", "other")


def measure_builds(recipe: Recipe, found: Gathered, datasets: tuple[str, ...]) -> dict[str, object]:
    """Build the knowledge base with and without `refuse_misnamed`, and compare the two."""
    groups = decide(found, recipe.model_copy(update={"merge": False}), found.successors.frame()).groups
    names = Names(found, groups)
    with tempfile.TemporaryDirectory() as folder:
        kbs = {}
        for is_refused in (False, True):
            joins = recipe.joins.model_copy(update={"refuse_misnamed": is_refused})
            dest = Path(folder) / str(is_refused)
            build_kb(recipe.model_copy(update={"joins": joins}), dest, root=data_folder())
            kbs[is_refused] = KnowledgeBase.open(dest)
        wrong = {
            key: sum(names.contradict(low, high) for low, high, _ in join_frame(kb).iter_rows()) for key, kb in kbs.items()
        }
        mentions = [
            each for name in datasets for doc in open_dataset(name, data_folder()).documents("dev") for each in doc.mentions
        ]
        return {
            "fused_wrong": wrong[True],
            "fused_wrong_before": wrong[False],
            "dev_mentions": len(mentions),
            "gold_by_id": compare([(is_found_by_id(kbs[False], each), is_found_by_id(kbs[True], each)) for each in mentions]),
            "gold_by_name": compare(
                [(is_found_by_name(kbs[False], each), is_found_by_name(kbs[True], each)) for each in mentions]
            ),
        }


def compare(pairs: list[tuple[bool, bool]]) -> dict[str, int]:
    """Count the mentions whose gold concept is found without `refuse_misnamed` (before) and with it (after)."""
    gained, lost = sum(new and not old for old, new in pairs), sum(old and not new for old, new in pairs)
    return {"before": sum(old for old, _ in pairs), "after": sum(new for _, new in pairs), "gained": gained, "lost": lost}


def is_found_by_id(kb: KnowledgeBase, mention: Mention) -> bool:
    """Return whether all gold ids of a mention are ids of a concept."""
    return bool(mention.concept_ids) and all(kb.concepts_with_id(each) for each in mention.concept_ids)


def is_found_by_name(kb: KnowledgeBase, mention: Mention) -> bool:
    """Return whether a concept that has the surface as a name has one of the gold ids."""
    gold = {row for each in mention.concept_ids for row in kb.concepts_with_id(each)}
    return not gold.isdisjoint(kb.concepts_named(mention.surface))


class Names:
    """The names of all concepts in the sources, to check merges one by one, independently of the build."""

    def __init__(self, found: Gathered, groups: pl.DataFrame | None = None) -> None:
        ids, rows = found.ids.column(), found.names.frame()
        self._names: defaultdict[str, set[str]] = defaultdict(set)
        self._preferred: defaultdict[str, set[str]] = defaultdict(set)
        self._concepts: defaultdict[str, set[str]] = defaultdict(set)
        self._groups: defaultdict[str, set[str]] = defaultdict(set)
        self.first: dict[str, str] = {}
        for concept, name, kind in zip(ids.gather(rows["id"]), rows["name"], rows["kind"], strict=True):
            self._names[concept].add(name)
            self._concepts[name].add(concept)
            if kind == NameKind.PREFERRED:
                self._preferred[concept].add(name)
                self.first.setdefault(concept, name)
        for concept, group in [] if groups is None else groups.iter_rows():
            self._groups[concept].add(group)

    def contradict(self, low: str, high: str) -> bool:
        """Return whether names contradict a merge: those of one concept belong to another concept than its partner."""
        return self._belongs_elsewhere(low, high) or self._belongs_elsewhere(high, low)

    def _belongs_elsewhere(self, concept: str, partner: str) -> bool:
        if self._says(concept, partner):
            return False
        vocabulary = partner.partition(":")[0]
        others = {other for name in self._names[concept] for other in self._concepts[name]} - {partner}
        return any(
            self._says(concept, other) and self._says(other, concept)
            for other in others
            if other.partition(":")[0] == vocabulary and self._groups[other] & self._groups[concept]
        )

    def _says(self, concept: str, other: str) -> bool:
        """Return whether a preferred name of one concept is a name of the other, ignoring word order and plurals."""
        return not {_alike(name) for name in self._preferred[concept]}.isdisjoint(_alike(name) for name in self._names[other])


def _alike(name: str) -> tuple[str, tuple[str, ...]]:
    words = name.split()
    return word_key(words), tuple(word for word in words if len(word) < 2 or not word.isalpha())
