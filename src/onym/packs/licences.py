"""The vocabularies that Onym knows the terms of: who may have them in a pack, and what a pack must say of them.

A source of a knowledge base is recognised by its name, its path, its format, the files that were read, and by ids of concepts.
Where several fit, the one that may not be passed on is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.order import iter_prefixes
from onym.packs.provenance import NOT_STATED, PackedSource

_RELEASE = re.compile(
    r"(?<![0-9])((?:19|20)[0-9]{2}[-_.](?:0[1-9]|1[0-2])[-_.][0-3][0-9]|(?:19|20)[0-9]{2}(?:A[AB])?)(?![0-9])"
)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A vocabulary and its terms. One that `is_restricted` may be in private packs only.

    One that `must_be_unaltered` may not be filtered, and its release has to be shown.
    """

    title: str
    licence: str
    marks: str
    prefixes: tuple[str, ...] = ()
    is_restricted: bool = False
    must_be_unaltered: bool = False

    def is_meant(self, text: str) -> bool:
        """Tell whether a source that is described so is of this vocabulary."""
        return re.search(self.marks, text) is not None


def _word(*words: str) -> str:
    return "|".join(rf"(?<![a-z]){word}(?![a-z])" for word in words)


VOCABULARIES = (
    Vocabulary(
        "UMLS",
        "UMLS Metathesaurus License: personal; may not be passed on",
        "umls|mrconso|metathesaurus",
        ("umls",),
        is_restricted=True,
    ),
    Vocabulary(
        "SNOMED CT",
        "SNOMED CT Affiliate Licence; may not be passed on without one",
        "snomed|sct2_",
        ("snomedct",),
        is_restricted=True,
    ),
    Vocabulary(
        "MEDIC",
        "terms of the Comparative Toxicogenomics Database (CTD); may not be passed on without its permission",
        _word("medic", "ctd", "biosyn", "genbioel", "target_kb", "(?:train|dev|test|traindev)_dictionary"),
        is_restricted=True,
    ),
    Vocabulary(
        "HPO",
        "HPO licence: free; cite it, show its version, do not alter its content: https://hpo.jax.org/license",
        _word("hpo?", "human[ _-]?phenotype[ _-]?ontology"),
        must_be_unaltered=True,
    ),
    Vocabulary(
        "MeSH",
        "U.S. National Library of Medicine: free to use; NLM is the source, and Onym has modified it",
        _word("mesh", "desc(?=20)", "supp(?=20)"),
    ),
    Vocabulary("MONDO", "CC BY 4.0, Monarch Initiative; names are normalised", _word("mondo")),
    Vocabulary("ChEBI", "CC BY 4.0, EMBL-EBI; names are normalised", _word("chebi")),
    Vocabulary("Disease Ontology", "CC0", _word("doid", "disease[ _-]?ontology")),
    Vocabulary("Cellosaurus", "CC BY 4.0, SIB; names are normalised", _word("cellosaurus")),
)
_CHANGES = ("vocabularies", "semantic_types", "replacements")  # keys of a recipe by which content is left out or changed


def packed_sources(
    kb: KnowledgeBase, releases: Mapping[str, str] | None = None, licences: Mapping[str, str] | None = None
) -> tuple[PackedSource, ...]:
    """Return the sources of a knowledge base with their releases and licences; a person may state what is not known.

    >>> packed_sources(KnowledgeBase.open(getfixture("tiny_kb")), licences={"tiny": "CC0"})
    (PackedSource(name='tiny', vocabulary='', release='not stated', licence='CC0'),)
    """
    found = []
    for config in kb.manifest.config["sources"]:
        vocabulary = _vocabulary(config, kb)
        title = vocabulary.title if vocabulary else ""
        name = config["name"] or config["path"].rpartition("/")[2].split(".")[0]
        release = value_for(releases or {}, name, title) or _release(name, config["path"])
        licence = value_for(licences or {}, name, title) or (vocabulary.licence if vocabulary else "")
        found.append(PackedSource(name=name, vocabulary=title, release=release or NOT_STATED, licence=licence or NOT_STATED))
        if vocabulary and vocabulary.must_be_unaltered:
            _require_unaltered(vocabulary, kb.manifest.config, config, release)
    return tuple(found)


def restricted_in(kb: KnowledgeBase) -> list[str]:
    """Return the vocabularies of a knowledge base that may not be passed on."""
    prefixes = {prefix for prefix, _ in iter_prefixes(kb.concept_ids)}
    meant = {each.title for config in kb.manifest.config["sources"] if (each := _vocabulary(config, kb))}
    labels = " ".join(kb.sources[row] for row in range(len(kb.sources))).lower()
    return [
        each.title
        for each in VOCABULARIES
        if each.is_restricted
        and (each.title in meant or not prefixes.isdisjoint(each.prefixes) or (each.prefixes and each.is_meant(labels)))
    ]


def restricted_prefixes() -> dict[str, str]:
    """Return the prefixes of ids that may not be passed on, with the vocabulary of each.

    >>> restricted_prefixes()
    {'umls': 'UMLS', 'snomedct': 'SNOMED CT'}
    """
    return {prefix: each.title for each in VOCABULARIES if each.is_restricted for prefix in each.prefixes}


def _vocabulary(config: Mapping[str, Any], kb: KnowledgeBase) -> Vocabulary | None:
    """Return the vocabulary of a source of the recipe; None where Onym does not know it."""
    path = config["path"]
    inputs = (each.name for each in kb.manifest.inputs if each.name == path or each.name.startswith(f"{path}/"))
    text = " ".join((config["name"], path, config["format"], config["prefix"], *inputs)).lower()
    return next((each for each in VOCABULARIES if each.is_meant(text)), None)


def _release(*texts: str) -> str:
    """Return the release that a name or a path tells, a whole date rather than a year.

    >>> _release("MONDO", "ontologies/MONDO-ontology-v2026-05-05.json.zst"), _release("MeSH 2024", "mesh.tsv"), _release("a")
    ('2026-05-05', '2024', '')
    """
    found = [match for text in texts for match in _RELEASE.findall(text)]
    return max(found, key=len, default="")


def _require_unaltered(vocabulary: Vocabulary, recipe: Mapping[str, Any], source: Mapping[str, Any], release: str) -> None:
    title = vocabulary.title
    if source.get("only_joined") or any(recipe.get(key) for key in _CHANGES) or recipe["shared_names"] != "keep":
        what = f"{title} may be passed on with its content unaltered only, and the recipe leaves some of it out"
        raise ConfigError("pack-altered", what, fix=f"build the knowledge base of all of {title}")
    if not release:
        what = f"a pack has to show the version of {title}, and neither the source's name nor its file tells it"
        raise ConfigError("pack-release", what, fix=f"add --release {title}=VERSION")


def value_for(values: Mapping[str, str], *names: str) -> str:
    """Return what is stated of something by one of its names, in any case.

    >>> value_for({"hpo": "2026-01-08"}, "phenotypes", "HPO")
    '2026-01-08'
    """
    folded = {name.casefold(): value for name, value in values.items()}
    return next((folded[name.casefold()] for name in names if name.casefold() in folded), "")


def stated(options: Iterable[str], option: str) -> dict[str, str]:
    """Return what `NAME=VALUE` options say.

    >>> stated(["HPO=2026-01-08"], "--release")
    {'HPO': '2026-01-08'}
    """
    found = {}
    for each in options:
        name, equals, value = each.partition("=")
        if not (name.strip() and equals and value.strip()):
            raise ConfigError("config-invalid", f"{option} is not NAME=VALUE", fix=f"write it as in {option} HPO=2026-01-08")
        found[name.strip()] = value.strip()
    return found
