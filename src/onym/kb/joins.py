"""Joins equal concepts of different vocabularies: rules (cross-references, names, shared ids) propose pairs for a union-find.

A pair is (low, high): `high` is of the vocabulary that comes earlier in the recipe, and keeps its id. The most reliable rule
is applied first. Two concepts of one vocabulary never end up in one set. Pairs that names contradict are refused, see
`find_misnamed`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import polars as pl

from onym.kb.curie import prefix_of
from onym.kb.recipe import JoinConfig, NameRule
from onym.text.normal import word_key


class JoinRule(IntEnum):
    """Why two concepts of different vocabularies were joined. The values are stored in artefacts."""

    ONE_TO_ONE = 0  # the only cross-reference of either concept between the two vocabularies
    MANY_TO_ONE = 1  # one of several cross-references, selected by the preferred name
    SHARED_ID = 2  # both have a cross-reference to the same id of a third vocabulary, such as a CAS number
    NAME = 3  # the preferred name of one is a name of exactly one concept of the other vocabulary

    @property
    def label(self) -> str:
        """The name of the rule, such as `one-to-one`."""
        return self.name.lower().replace("_", "-")


@dataclass(frozen=True)
class JoinEvidence:
    """The input of the rules. All ids are of current concepts, except the column `xref` of `shared`."""

    edges: pl.DataFrame  # low, high, one_to_one: cross-references between current concepts of two vocabularies
    shared: pl.DataFrame  # concept, xref: cross-references to ids of third vocabularies
    names: pl.DataFrame  # concept, name, is_preferred
    groups: pl.DataFrame  # concept, group
    ranks: pl.DataFrame  # prefix, rank: vocabularies by precedence

    def after(self, joined: pl.DataFrame) -> JoinEvidence:
        """Return the evidence with earlier joins added as cross-references, for the next rule."""
        known = joined.select(low="concept", high="final", one_to_one=pl.lit(value=True))
        return replace(self, edges=pl.concat([self.edges, known]).unique(["low", "high"], keep="first", maintain_order=True))

    def without(self, pairs: pl.DataFrame) -> JoinEvidence:
        """Return the evidence without the cross-references of these pairs, so that they contradict no other pair."""
        return replace(self, edges=_drop_pairs(self.edges, pairs))


def orient_pairs(pairs: pl.DataFrame, ranks: pl.DataFrame) -> pl.DataFrame:
    """Add the columns `low` and `high` to pairs (a, b), and drop pairs of a single vocabulary."""
    for side in ("a", "b"):
        table = ranks.select(pl.col("prefix").alias(f"{side}_prefix"), pl.col("rank").alias(f"{side}_rank"))
        pairs = pairs.with_columns(prefix_of(side).alias(f"{side}_prefix"))
        pairs = pairs.join(table, on=f"{side}_prefix", how="left", maintain_order="left")
    first = pl.col("a_rank") < pl.col("b_rank")
    return pairs.filter(pl.col("a_rank") != pl.col("b_rank")).with_columns(
        high=pl.when(first).then("a").otherwise("b"), low=pl.when(first).then("b").otherwise("a")
    )


def drop_contradicted(pairs: pl.DataFrame, edges: pl.DataFrame) -> pl.DataFrame:
    """Drop pairs if either concept has a cross-reference to a different concept of the other vocabulary."""
    stated = edges.select("low", "high", stated=pl.lit(value=True))
    pairs = pairs.join(stated, on=["low", "high"], how="left", maintain_order="left")
    for end, other in (("low", "high"), ("high", "low")):
        taken = edges.select(end, prefix_of(other).alias("vocabulary"), referred=pl.lit(value=True)).unique()
        pairs = pairs.with_columns(prefix_of(other).alias("vocabulary"))
        pairs = pairs.join(taken, on=[end, "vocabulary"], how="left", maintain_order="left")
        pairs = pairs.filter(pl.col("stated").is_not_null() | pl.col("referred").is_null()).drop("referred", "vocabulary")
    return pairs.drop("stated")


def _drop_pairs(pairs: pl.DataFrame, unwanted: pl.DataFrame) -> pl.DataFrame:
    return pairs.join(unwanted, on=["low", "high"], how="anti", maintain_order="left")


def select_unique_pairs(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs whose concepts are in no other pair of the same two vocabularies."""
    lone_low = pl.len().over("low", prefix_of("high")) == 1
    lone_high = pl.len().over("high", prefix_of("low")) == 1
    return pairs.filter(lone_low & lone_high)


NONE_MISNAMED = pl.DataFrame(schema=dict.fromkeys(("low", "high", "concept", "other", "bearer", "name"), pl.String))


class Union:
    """Union-find over concepts. Each set keeps the id of the concept whose vocabulary comes first in `prefixes`.

    >>> union = Union(prefixes=["mesh", "mondo"])
    >>> union.join(pl.DataFrame({"low": ["mondo:1", "mondo:2"], "high": ["mesh:1", "mesh:1"]}), JoinRule.NAME)
    >>> union.frame().rows(), union.refused
    ([('mondo:1', 'mesh:1', 3)], 1)
    """

    def __init__(self, undone: Collection[str] = (), prefixes: Sequence[str] = ()) -> None:
        self.refused = 0
        self.undone = 0
        self.misnamed = NONE_MISNAMED
        self.counts: Counter[JoinRule] = Counter()
        self._kept_apart = frozenset(undone)
        self._ranks = {prefix: rank for rank, prefix in enumerate(prefixes)}
        self._parent: dict[str, str] = {}
        self._rule: dict[str, JoinRule] = {}
        self._vocabularies: dict[str, frozenset[str]] = {}

    def join(self, pairs: pl.DataFrame, rule: JoinRule) -> None:
        """Join pairs in order, skipping those that would put two concepts of one vocabulary into one set."""
        for low, high in pairs.select("low", "high").iter_rows():
            if low in self._kept_apart or high in self._kept_apart:
                self.undone += 1
                continue
            self._join(low, high, rule)

    def frame(self) -> pl.DataFrame:
        """Return the concepts that were joined into another one: concept, final, rule."""
        rows = [(concept, self._root(concept), int(rule)) for concept, rule in self._rule.items()]
        return pl.DataFrame(rows, schema={"concept": pl.String, "final": pl.String, "rule": pl.UInt8}, orient="row")

    def _join(self, low: str, high: str, rule: JoinRule) -> None:
        a, b = self._root(high), self._root(low)
        mine, theirs = (self._vocabularies.get(each, frozenset({each.partition(":")[0]})) for each in (a, b))
        if mine & theirs:
            self.refused += a != b
            return
        if self._rank(b) < self._rank(a):  # `low` is already in the set of an earlier vocabulary than that of `high`
            a, b = b, a
        self._parent[b] = a
        self._rule[b] = rule
        self._vocabularies[a] = mine | theirs
        self.counts[rule] += 1

    def _rank(self, concept: str) -> int:
        return self._ranks.get(concept.partition(":")[0], len(self._ranks))

    def _root(self, concept: str) -> str:
        while (up := self._parent.get(concept, concept)) != concept:
            concept = up
        return concept


_BOTH, _ONE = 2, 1  # number of preferred names of a pair that are a name of the other concept
_SAID_BY = {
    "first": pl.col("high_says"),
    "either": pl.lit(value=True),
    "both": pl.col("votes") == _BOTH,
}


def by_name(evidence: JoinEvidence, rules: Mapping[str, NameRule]) -> pl.DataFrame:
    """Return pairs where the preferred name of one concept is a name of the other, and of no third one in its vocabulary.

    Both have a semantic group in common, and no cross-reference contradicts the pair. `rules` maps the vocabulary of `low` to
    its name rule, see `JoinConfig`.
    """
    names = evidence.names.select("concept", "name").unique().with_columns(vocabulary=prefix_of("concept"))
    lone = names.filter(pl.len().over("vocabulary", "name") == 1).select("name", b="concept")
    found = (
        _select_preferred(evidence, "a")
        .join(lone, on="name")
        .filter(prefix_of("a") != prefix_of("b"))
        .select("a", "b")
        .unique()
    )
    said = orient_pairs(found, evidence.ranks).with_columns(high_says=pl.col("a") == pl.col("high"))
    pairs = said.group_by("low", "high").agg(votes=pl.len(), high_says=pl.col("high_says").any())
    clear = _choose(drop_contradicted(_of_one_group(pairs, evidence.groups), evidence.edges))
    return clear.filter(_allow_rule(rules)).select("low", "high")


def by_xref_and_name(evidence: JoinEvidence, rules: Mapping[str, NameRule]) -> pl.DataFrame:
    """Return pairs whose cross-reference is not one-to-one, but where the preferred name of `low` is a name of `high`."""
    loose = evidence.edges.filter(~pl.col("one_to_one") & prefix_of("low").is_in(list(rules))).select("low", "high")
    finer, coarser = (_says_so(loose, evidence, *ends) for ends in (("low", "high"), ("high", "low")))
    both = coarser.with_columns(votes=pl.lit(_BOTH))
    pairs = finer.join(both, on=["low", "high"], how="left").with_columns(pl.col("votes").fill_null(_ONE))
    return _choose(pairs).select("low", "high")


def _allow_rule(rules: Mapping[str, NameRule]) -> pl.Expr:
    """Return whether a pair meets the rule of its vocabulary; vocabularies without a rule are not joined by name."""
    return pl.any_horizontal(
        pl.lit(value=False), *((prefix_of("low") == prefix) & _SAID_BY[rule] for prefix, rule in rules.items())
    )


def _select_preferred(evidence: JoinEvidence, column: str) -> pl.DataFrame:
    return evidence.names.filter("is_preferred").select("name", pl.col("concept").alias(column)).unique()


def _says_so(pairs: pl.DataFrame, evidence: JoinEvidence, one: str, other: str) -> pl.DataFrame:
    """Return the pairs in which the preferred name of one end is a name of the other."""
    said = pairs.join(_select_preferred(evidence, one), on=one)
    names = evidence.names.select("name", pl.col("concept").alias(other))
    return said.join(names, on=[other, "name"], how="semi").select("low", "high").unique()


def _of_one_group(pairs: pl.DataFrame, groups: pl.DataFrame, one: str = "low", other: str = "high") -> pl.DataFrame:
    ours, theirs = (groups.select(pl.col("concept").alias(end), "group") for end in (one, other))
    same = pairs.join(ours, on=one).join(theirs, on=[other, "group"], how="semi")
    return same.drop("group").unique()


def _choose(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the unambiguous pairs with two votes, then those with one vote that are unambiguous once the first are removed."""
    found_pairs = []
    for votes in (_BOTH, _ONE):
        taken = select_unique_pairs(pairs.filter(pl.col("votes") >= votes)).sort("low", "high")
        found_pairs.append(taken)
        pairs = _without_ends(pairs, taken)
    return pl.concat(found_pairs)


def _without_ends(pairs: pl.DataFrame, taken: pl.DataFrame) -> pl.DataFrame:
    """Drop pairs of a concept that is already paired with one of the same vocabulary."""
    for end, other in (("low", "high"), ("high", "low")):
        busy = taken.select(end, prefix_of(other).alias("vocabulary"))
        pairs = pairs.with_columns(prefix_of(other).alias("vocabulary")).join(busy, on=[end, "vocabulary"], how="anti")
        pairs = pairs.drop("vocabulary")
    return pairs


def by_shared_id(evidence: JoinEvidence, vocabularies: Sequence[str]) -> pl.DataFrame:
    """Return pairs that share an id of one of the vocabularies, such as `cas`, unless a cross-reference contradicts them."""
    used = evidence.shared.filter(prefix_of("xref").is_in(list(vocabularies))).unique()
    lone = used.filter(pl.len().over("xref", prefix_of("concept")) == 1)
    found = lone.rename({"concept": "a"}).join(lone.rename({"concept": "b"}), on="xref")
    found = found.filter(prefix_of("a") < prefix_of("b")).select("a", "b").unique()
    pairs = orient_pairs(found, evidence.ranks).select("low", "high")
    return select_unique_pairs(drop_contradicted(pairs, evidence.edges)).sort("low", "high")


def find_misnamed(pairs: pl.DataFrame, evidence: JoinEvidence) -> pl.DataFrame:
    """Return the pairs whose names show that they are different things: low, high, concept, other, bearer, name.

    The preferred name of one end (`concept`) is not a name of its partner (`other`), but of another concept of the partner's
    vocabulary (`bearer`), whose preferred name is in turn a name of `concept`. Word order and number of these names may differ.
    Besides, `concept` and `bearer` have an equal name and a semantic group in common, since mere likeness proves nothing.
    """
    ends = pl.concat([pairs.select("low", "high", concept=one, other=two) for one, two in (("low", "high"), ("high", "low"))])
    names = evidence.names.select("concept", "name")
    near = ends.join(names, on="concept").join(names.rename({"concept": "bearer"}), on="name").drop("name")
    near = near.filter((prefix_of("bearer") == prefix_of("other")) & (pl.col("bearer") != pl.col("other"))).unique()
    near = _of_one_group(near, evidence.groups, "concept", "bearer")
    keyed = _keys_of(evidence, pl.concat([near[end] for end in ("concept", "other", "bearer")]))
    near = near.join(_find_said(near, keyed, "concept", "other"), on=["concept", "other"], how="anti")
    near = near.join(_find_said(near, keyed, "bearer", "concept"), on=["concept", "bearer"], how="semi")
    found = near.join(_find_said(near, keyed, "concept", "bearer"), on=["concept", "bearer"]).select(NONE_MISNAMED.columns)
    return found.sort(found.columns).unique(["low", "high", "bearer"], keep="first", maintain_order=True)


def find_nameless(evidence: JoinEvidence, vocabularies: Sequence[str]) -> pl.DataFrame:
    """Return the cross-references of some vocabularies between concepts without a name in common: low, high.

    Word order and number of the names may differ.
    """
    edges = evidence.edges.filter(prefix_of("low").is_in(list(vocabularies))).select("low", "high")
    keyed = _keys_of(evidence, pl.concat([edges["low"], edges["high"]])).select("concept", "key").unique()
    sharing = edges.join(keyed, left_on="low", right_on="concept").join(
        keyed, left_on=["high", "key"], right_on=["concept", "key"], how="semi"
    )
    return _drop_pairs(edges, sharing)


def _find_said(pairs: pl.DataFrame, keyed: pl.DataFrame, one: str, other: str) -> pl.DataFrame:
    """Return the pairs in which the preferred name of one end is, but for word order and number, a name of the other."""
    preferred = keyed.filter("is_preferred").select("key", "name", pl.col("concept").alias(one))
    theirs = keyed.select("key", pl.col("concept").alias(other))
    said = pairs.select(one, other).unique().join(preferred, on=one).join(theirs, on=[other, "key"], how="semi")
    return said.drop("key")


def _keys_of(evidence: JoinEvidence, concepts: pl.Series) -> pl.DataFrame:
    """Return the names of concepts with a `key`, which is equal for names that differ only in word order or number."""
    names = evidence.names.filter(pl.col("concept").is_in(concepts.unique().implode()))
    return names.with_columns(key=pl.Series([_key(name) for name in names["name"]], dtype=pl.String))


def _key(name: str) -> str:
    """Return the stems of a name in any order, but its numbers and letters in theirs: 2-methyl-3-oxo is not 3-methyl-2-oxo."""
    words = name.split()
    return f"{word_key(words)}|{' '.join(word for word in words if len(word) == 1 or not word.isalpha())}"


def by_bearer(misnamed: pl.DataFrame, evidence: JoinEvidence, rules: Mapping[str, NameRule]) -> pl.DataFrame:
    """Return the concepts of refused pairs, each with the concept that bears its name, unless a cross-reference contradicts.

    The preferred name of either is a name of the other, so that every name rule allows these pairs.
    """
    found = orient_pairs(misnamed.select(a="concept", b="bearer"), evidence.ranks).select("low", "high").unique()
    pairs = drop_contradicted(found.filter(prefix_of("low").is_in(list(rules))), evidence.edges)
    return select_unique_pairs(pairs).sort("low", "high")


Propose = Callable[[JoinEvidence], pl.DataFrame]


def join_all(evidence: JoinEvidence, joins: JoinConfig) -> Union:
    """Apply the rules that the recipe selects; later rules cannot contradict earlier joins.

    A concept of a refused pair is joined with the one that bears its name, if there is exactly one.
    """
    union = Union(joins.undo, evidence.ranks["prefix"].to_list())
    is_checked = bool(joins.by_name) and joins.refuse_misnamed
    evidence = evidence.without(find_nameless(evidence, joins.same_name))
    same = dict.fromkeys(joins.same_groups, next(iter(joins.same_groups), ""))
    evidence = replace(evidence, groups=evidence.groups.with_columns(pl.col("group").replace(same))) if same else evidence
    for rule, propose in _rules(joins):
        pairs = propose(evidence.after(union.frame()))
        misnamed = find_misnamed(pairs, evidence) if is_checked else NONE_MISNAMED
        evidence = evidence.without(misnamed)
        union.join(_drop_pairs(pairs, misnamed), rule)
        if rule != JoinRule.SHARED_ID:  # the bearer does not have the shared id, which contradicts a join with it
            union.join(by_bearer(misnamed, evidence.after(union.frame()), joins.by_name), JoinRule.NAME)
        union.misnamed = pl.concat([union.misnamed, misnamed]).unique(["low", "high"], keep="first", maintain_order=True)
    return union


def _rules(joins: JoinConfig) -> Iterator[tuple[JoinRule, Propose]]:
    yield JoinRule.ONE_TO_ONE, lambda evidence: evidence.edges.filter("one_to_one")
    if joins.by_name and joins.many_to_one == "apart":
        yield JoinRule.MANY_TO_ONE, lambda evidence: by_xref_and_name(evidence, joins.by_name)
    if joins.by_name:
        yield JoinRule.NAME, lambda evidence: by_name(evidence, joins.by_name)
    if joins.shared_ids:
        yield JoinRule.SHARED_ID, lambda evidence: by_shared_id(evidence, joins.shared_ids)


def xref_edges(xrefs: pl.DataFrame, standing: pl.DataFrame, ranks: pl.DataFrame, *, merge: bool = True) -> pl.DataFrame:
    """Return (low, high, one_to_one) for each cross-reference between two current concepts; empty unless `merge`."""
    current = standing.rename({"concept": "xref"}) if merge else standing.rename({"concept": "xref"}).clear()
    both = xrefs.join(current, on="xref", how="semi", maintain_order="left").rename({"concept": "a", "xref": "b"})
    pairs = orient_pairs(both, ranks).select("low", "high").unique(maintain_order=True)
    single = (pl.len().over("low", prefix_of("high")) == 1) & (pl.len().over("high", prefix_of("low")) == 1)
    return pairs.with_columns(one_to_one=single)
