"""Semantic groups (Disease, Chemical, Species ...) and the semantic types that belong to each.

Types are branches of the MeSH tree, semantic types of UMLS (grouped as in the UMLS semantic groups) and SNOMED CT tags.
Some types belong to two groups: signs and symptoms are both Disease and Phenotype.
Vocabularies whose concepts are all of one group are listed in `onym.vocabularies`.
"""

from __future__ import annotations

import re
from typing import Literal, get_args

GroupLabel = Literal[
    "Anatomy", "Behavior", "Cell", "Cell line", "Chemical", "Concept", "Device", "Disease", "Gene", "Person", "Phenotype",
    "Location", "Procedure", "Process", "Species",
]  # fmt: skip
GROUPS: tuple[str, ...] = get_args(GroupLabel)
"""All groups. Gene covers genes and gene products; Process covers biological and natural processes."""

# Branches of the MeSH tree; the longest matching prefix applies.
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
    """Return the groups of a semantic type; empty if the type is unknown.

    >>> groups_of_type("C04"), groups_of_type("T184"), groups_of_type("disorder"), groups_of_type("F01")
    (('Disease',), ('Disease', 'Phenotype'), ('Disease',), ('Behavior',))
    """
    if _BRANCH.match(type_name) and type_name[0] in _BRANCHES.keys() | {"F"}:
        return _BRANCHES.get(type_name) or _BRANCHES.get(type_name[0], ())
    return (type_name,) if type_name in GROUPS else _TYPES.get(type_name, ())
