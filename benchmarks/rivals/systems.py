"""The systems: what they are, in which settings they run, and for which tasks they are made.

The first settings are the defaults of the system; the others are those that its documentation names. The settings with the best
score on the dev split of a dataset are run on its test split too. GSC-2024 has no dev split; there they are cross-validated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.rivals.exports import (
    Writer,
    write_gilda,
    write_jsonl,
    write_medcat,
    write_mrconso,
    write_mrsty,
    write_patterns,
    write_scispacy,
)
from benchmarks.rivals.tasks import BaseName, TaskName

ALL: tuple[TaskName, ...] = ("text", "mentions", "terms")
OWN = "onym"


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """A system. `environment` names its locked list of packages; Onym runs in the environment of the benchmark.

    `degraded` says what of the system had to be replaced. `bases` are the knowledge bases that it can use.
    """

    key: str
    title: str
    package: str
    adapter: str
    environment: str
    settings: Mapping[str, Mapping[str, Any]]
    tasks: tuple[TaskName, ...] = ALL
    bases: tuple[BaseName, ...] = ("starter", "hpo")
    for_hpo: frozenset[str] = frozenset()
    """Settings for HPO only."""
    is_trained: bool = False
    degraded: str = ""
    formats: Mapping[str, Writer] = field(default_factory=dict)
    """Writers of the knowledge base, by file."""
    files: tuple[str, ...] = ()
    """Other files that the adapter reads, see `benchmarks.rivals.texts`."""
    detector: str = ""
    """Key of the system of Onym whose mentions are linked in raw text."""

    def settings_for(self, base: BaseName) -> list[str]:
        """Return the names of the settings for a knowledge base, the default first."""
        return [name for name in self.settings if base == "hpo" or name not in self.for_hpo]

    @property
    def is_own(self) -> bool:
        """Whether the system is Onym."""
        return self.environment == OWN


_PATTERNS: dict[str, Writer] = {"patterns.jsonl": write_patterns}
_NESTED = {"linker": "exact", "options": {"inflections": True}, "detector": {"nested": True}}
SYSTEMS = (
    System(
        "onym-exact",
        "Onym, dictionary + exact",
        "onym",
        "onym_pipeline",
        OWN,
        {
            "default": {"linker": "exact"},
            "inflections": {"linker": "exact", "options": {"inflections": True}},
            "inflections, nested": _NESTED,
            "inflections, nested, phenotypes": {**_NESTED, "under": ("hp:0000118", "hp:0000005")},
        },
        for_hpo=frozenset({"inflections, nested", "inflections, nested, phenotypes"}),
    ),
    System(
        "onym-tfidf",
        "Onym, dictionary + TF-IDF",
        "onym",
        "onym_pipeline",
        OWN,
        {"default": {"linker": "tfidf"}},
    ),
    System(
        "onym-starter",
        "Onym, starter",
        "onym",
        "onym_pipeline",
        OWN,
        {"default": {"pipeline": "starter"}},
        bases=("starter",),
        is_trained=True,
    ),
    System(
        "spacy-matcher",
        "spaCy PhraseMatcher",
        "spacy",
        "spacy_matcher",
        "spacy",
        {
            "default": {"component": "matcher", "attribute": "ORTH"},
            "lower case": {"component": "matcher", "attribute": "LOWER"},
        },
        formats=_PATTERNS,
    ),
    System(
        "spacy-ruler",
        "spaCy EntityRuler",
        "spacy",
        "spacy_matcher",
        "spacy",
        {
            "default": {"component": "ruler", "attribute": "ORTH"},
            "lower case": {"component": "ruler", "attribute": "LOWER"},
        },
        ("text",),
        formats=_PATTERNS,
    ),
    System(
        "gilda",
        "Gilda",
        "gilda",
        "gilda_grounder",
        "gilda",
        {"default": {}},
        degraded="without the disambiguation models, which it downloads",
        formats={"terms.tsv.gz": write_gilda},
    ),
    System(
        "text2term",
        "text2term",
        "text2term",
        "text2term_mapper",
        "text2term",
        {"default": {}},
        ("terms",),
        ("starter",),
        formats={"kb.jsonl": write_jsonl},
    ),
    System(
        "fasthpocr",
        "FastHPOCR",
        "FastHPOCR",
        "fasthpocr_annotator",
        "fasthpocr",
        {"default": {}, "longest match": {"longest": True}},
        ("text",),
        ("hpo",),
        files=("hp.obo",),
    ),
    System(
        "quickumls",
        "QuickUMLS",
        "quickumls",
        "quickumls_matcher",
        "quickumls",
        {"default": {}, "-L -U": {"lower": True}},
        degraded="blank spaCy pipeline instead of en_core_web_sm, stop words of spaCy instead of NLTK",
        formats={"MRCONSO.RRF": write_mrconso, "MRSTY.RRF": write_mrsty},
    ),
    System(
        "scispacy",
        "scispaCy linker",
        "scispacy",
        "scispacy_linker",
        "scispacy",
        {"default": {}, "all definitions": {"filter_for_definitions": False}},
        bases=("starter",),
        degraded="mentions of Onym's dictionary instead of en_core_sci, index built with M 16 and efConstruction 100",
        formats={"scispacy.jsonl": write_scispacy},
        detector="onym-exact",
    ),
    System(
        "medcat",
        "MedCAT, unsupervised",
        "medcat",
        "medcat_annotator",
        "medcat",
        {
            "default": {"pack": "unsupervised"},
            "threshold 0.1": {"pack": "unsupervised", "similarity_threshold": 0.1},
        },
        ("text",),
        ("starter",),
        degraded="word vectors of 2,000 abstracts instead of its vocabulary, trained on these abstracts only",
        formats={"cdb.csv": write_medcat},
        files=("abstracts.txt", "training.json"),
    ),
    System(
        "medcat-supervised",
        "MedCAT, supervised",
        "medcat",
        "medcat_annotator",
        "medcat",
        {
            "default": {"pack": "supervised"},
            "threshold 0.1": {"pack": "supervised", "similarity_threshold": 0.1},
        },
        ("text",),
        ("starter",),
        is_trained=True,
        degraded="word vectors of 2,000 abstracts instead of its vocabulary, trained on these abstracts only",
        formats={"cdb.csv": write_medcat},
        files=("abstracts.txt", "training.json"),
    ),
)
