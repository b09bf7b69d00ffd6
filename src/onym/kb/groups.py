"""Semantic groups (Disease, Chemical, Species ...): which types belong to which, and how concepts get theirs.

All concepts of a vocabulary may be of one group: the table of vocabularies says so.
Types are the branches of the MeSH tree, the semantic types of UMLS (after its own semantic groups) and the tags of SNOMED CT.
Some belong to two groups: signs and symptoms are what a disease mention may mean, and phenotypes as well.
"""

from __future__ import annotations

import re
from typing import Literal, get_args

import polars as pl

from onym.kb.curie import prefix_of
from onym.vocabularies import vocabularies

GroupLabel = Literal[
    "Anatomy", "Behavior", "Cell", "Cell line", "Chemical", "Concept", "Device", "Disease", "Gene", "Person", "Phenotype",
    "Location", "Procedure", "Process", "Species",
]  # fmt: skip
GROUPS: tuple[str, ...] = get_args(GroupLabel)
"""All groups. Gene stands for genes and their products, Process for what happens in bodies and in nature."""

# Branches of the MeSH tree, the longest beginning that fits.
_BRANCHES = {
    "A": ("Anatomy",), "A11": ("Anatomy", "Cell"), "B": ("Species",), "C": ("Disease",), "C23": ("Disease", "Phenotype"),
    "D": ("Chemical",), "E": ("Procedure",), "E07": ("Device",), "F01": ("Behavior",), "F02": ("Process",), "F03": ("Disease",),
    "F04": ("Procedure",), "G": ("Process",), "H": ("Concept",), "I": ("Concept",), "J": ("Device",), "K": ("Concept",),
    "L": ("Concept",), "M": ("Person",), "N": ("Concept",), "V": ("Concept",), "Z": ("Location",),
}  # fmt: skip
_BRANCH = re.compile(r"^[A-Z]\d\d$")

_UMLS = {
    ("Behavior",): "T051 T052 T053 T054 T055 T056 T057 T064 T066",
    ("Anatomy",): "T017 T018 T021 T022 T023 T024 T029 T030 T031",
    ("Anatomy", "Cell"): "T025 T026",
    ("Chemical",): "T103 T104 T109 T110 T111 T114 T115 T116 T118 T119 T120 T121 T122 T123 T124 T125 T126 T127 T129 T130 T131 "
    "T192 T195 T196 T197 T200",
    ("Concept",): "T071 T077 T078 T079 T080 T081 T082 T089 T090 T091 T102 T169 T170 T171 T185",
    ("Device",): "T073 T074 T075 T203",
    ("Disease",): "T019 T020 T037 T047 T048 T049 T050 T190 T191",
    ("Disease", "Phenotype"): "T046 T184",
    ("Phenotype",): "T033",
    ("Gene",): "T028 T085 T086 T087 T088",
    ("Location",): "T083",
    ("Species",): "T001 T002 T004 T005 T007 T008 T010 T011 T012 T013 T014 T015 T194 T204",
    ("Person",): "T016 T092 T093 T094 T095 T096 T097 T098 T099 T100 T101",
    ("Chemical", "Device"): "T072 T167 T168",
    ("Process",): "T032 T034 T038 T039 T040 T041 T042 T043 T044 T045 T067 T068 T069 T070 T201",
    ("Procedure",): "T058 T059 T060 T061 T062 T063 T065",
}
_SNOMED = {
    ("Disease",): ("disorder",),
    ("Phenotype",): ("finding", "situation"),
    ("Anatomy",): ("body structure", "cell structure", "morphologic abnormality"),
    ("Cell",): ("cell",),
    ("Chemical",): ("substance", "product", "medicinal product", "medicinal product form", "clinical drug"),
    ("Species",): ("organism",),
    ("Procedure",): ("procedure", "regime/therapy"),
    ("Device",): ("physical object",),
    ("Person",): ("person", "occupation", "ethnic group", "social concept"),
    ("Location",): ("environment", "geographic location", "environment / location"),
    ("Process",): ("observable entity", "physical force", "event"),
    ("Concept",): ("qualifier value", "attribute", "staging scale", "assessment scale", "record artifact"),
}
_TYPES = {code: groups for groups, codes in _UMLS.items() for code in codes.split()} | {
    tag: groups for groups, tags in _SNOMED.items() for tag in tags
}


def groups_of_type(type_name: str) -> tuple[str, ...]:
    """Return the groups of a semantic type; none if it is not known.

    >>> groups_of_type("C04"), groups_of_type("T184"), groups_of_type("disorder"), groups_of_type("F01")
    (('Disease',), ('Disease', 'Phenotype'), ('Disease',), ('Behavior',))
    """
    if _BRANCH.match(type_name) and type_name[0] in _BRANCHES.keys() | {"F"}:
        return _BRANCHES.get(type_name) or _BRANCHES.get(type_name[0], ())
    return (type_name,) if type_name in GROUPS else _TYPES.get(type_name, ())


_GENERATIONS = 20  # deeper than the tree of any vocabulary in which only the top is typed


def assign_groups(
    ids: pl.DataFrame,
    *,
    stated: pl.DataFrame,
    types: pl.DataFrame,
    xrefs: pl.DataFrame,
    broader: pl.DataFrame,
    names: pl.DataFrame,
) -> pl.DataFrame:
    """Return the groups of concepts, as (concept, group). `ids` has a column `concept`, `names` has (concept, name).

    >>> none = {column: pl.DataFrame(schema={"concept": pl.String, column: pl.String}) for column in ("group", "xref", "name")}
    >>> types = pl.DataFrame({"concept": ["mesh:D1"], "type": ["D03"]})
    >>> mapped = pl.DataFrame({"concept": ["mesh:C1"], "broader": ["mesh:D1"]})
    >>> ids = pl.DataFrame({"concept": ["mesh:C1", "mesh:D1"]})
    >>> assign_groups(ids, stated=none["group"], types=types, xrefs=none["xref"], broader=mapped, names=none["name"]).rows()
    [('mesh:C1', 'Chemical'), ('mesh:D1', 'Chemical')]
    """
    own = pl.concat([stated, _of_types(types), _of_vocabulary(ids, "concept"), _of_vocabulary(xrefs, "xref")])
    found = own.join(ids, on="concept", how="semi").unique()
    found = _of_broader(found, broader.join(ids, on="concept", how="semi"))
    return _of_names(found, ids, names).sort("concept", "group")


def _of_types(types: pl.DataFrame) -> pl.DataFrame:
    known = types.select("type").unique()
    groups = [groups_of_type(name) for name in known["type"]]
    table = known.with_columns(group=pl.Series(groups, dtype=pl.List(pl.String))).explode("group").drop_nulls()
    return types.join(table, on="type").select("concept", "group")


def _of_vocabulary(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    groups = {prefix: list(each.groups) for prefix, each in vocabularies().items() if each.groups}
    table = pl.DataFrame({"prefix": list(groups), "group": list(groups.values())}).explode("group")
    return rows.select("concept", prefix=prefix_of(column)).join(table, on="prefix").select("concept", "group")


def _of_broader(found: pl.DataFrame, broader: pl.DataFrame) -> pl.DataFrame:
    """Let concepts without a group take those of most of their broader concepts, from the top of a hierarchy downwards."""
    for _ in range(_GENERATIONS):
        waiting = broader.unique().join(found, on="concept", how="anti")
        above = waiting.join(found.rename({"concept": "broader"}), on="broader").group_by("concept", "group").len()
        if above.is_empty():
            break
        commonest = above.filter(pl.col("len") == pl.col("len").max().over("concept"))
        found = pl.concat([found, commonest.select("concept", "group")])
    return found


def _of_names(found: pl.DataFrame, ids: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """Let concepts without a group take those of the concepts of the same vocabulary that share a name with them."""
    without = names.join(ids.join(found, on="concept", how="anti"), on="concept", how="semi")
    sharing = names.join(without, on="name", how="semi").rename({"concept": "other"})
    pairs = without.join(sharing, on="name").filter(prefix_of("concept") == prefix_of("other"))
    taken = pairs.join(found.rename({"concept": "other"}), on="other").select("concept", "group")
    return pl.concat([found, taken.unique()])
