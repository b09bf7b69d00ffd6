"""Decides whether the sources of a knowledge base may be redistributed in a pack, and finds their releases and licences.

A source is recognised by its name, path, format, input files and concept ids. If several vocabularies match, the one with the
strictest terms counts. A source whose ids are not recognised, and whose licence is not stated, may not be redistributed either,
because it may be a licensed release under another name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pyarrow.compute as pc

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.export import join_frame
from onym.kb.order import iter_prefixes
from onym.packs.provenance import NOT_STATED, PackedSource
from onym.store.arrays import Strings
from onym.vocabularies import Vocabulary, canonical_prefix, find_vocabulary, vocabularies

_RELEASE = re.compile(
    r"(?<![0-9])((?:19|20)[0-9]{2}[-_.](?:0[1-9]|1[0-2])[-_.][0-3][0-9]|(?:19|20)[0-9]{2}(?:A[AB])?)(?![0-9])"
)


_CHANGES = ("semantic_types", "replacements")  # recipe keys that drop or change parts of any source


def describe_sources(
    kb: KnowledgeBase, releases: Mapping[str, str] | None = None, licences: Mapping[str, str] | None = None
) -> tuple[PackedSource, ...]:
    """Return the sources of a KB with releases and licences. `releases` and `licences` override the values that are detected.

    >>> describe_sources(KnowledgeBase.open(getfixture("tiny_kb")), licences={"tiny": "CC0"})
    (PackedSource(name='tiny', vocabulary='', release='not stated', licence='CC0'),)
    """
    found = []
    for config in kb.manifest.config["sources"]:
        vocabulary, name = _vocabulary(config, kb), _name(config)
        title = vocabulary.title if vocabulary else ""
        release = value_for(releases or {}, name, title) or _release(name, config["path"])
        licence = _licence(config, title, licences or {}) or (
            vocabulary.pack_licence or vocabulary.licence if vocabulary else ""
        )
        found.append(PackedSource(name=name, vocabulary=title, release=release or NOT_STATED, licence=licence or NOT_STATED))
        if vocabulary and vocabulary.redistribution == "unaltered":
            _require_unaltered(vocabulary, kb.manifest.config, config, release)
    return tuple(found)


def find_restricted(kb: KnowledgeBase) -> list[str]:
    """Return the vocabularies in a knowledge base that may never be redistributed, whatever licence is stated."""
    meant = [each for config in kb.manifest.config["sources"] if (each := _vocabulary(config, kb))]
    labels = " ".join(kb.sources).lower()
    by_ids = {*find_restricted_ids(kb.concept_ids), *find_restricted_ids(_find_joined_ids(kb))}
    return [
        each.title
        for each in _with_terms()
        if each.is_restricted and (each in meant or each.title in by_ids or each.is_meant(labels))
    ]


def find_restricted_ids(ids: Strings) -> list[str]:
    """Return the vocabularies of these (sorted) ids that may not be redistributed, found by prefix or by id pattern.

    >>> find_restricted_ids(Strings.of(["mesh:D003924", "mine:C0011860", "snomedct:22298006"]))
    ['UMLS', 'SNOMED CT']
    """
    prefixes, column = {prefix for prefix, _ in iter_prefixes(ids)}, ids.to_arrow()

    def holds(shape: str) -> bool:
        return bool(shape) and bool(pc.any(pc.match_substring_regex(column, f":(?:{shape})$")).as_py())

    return [each.title for each in _with_terms() if each.is_restricted and (each.prefix in prefixes or holds(each.pattern))]


def find_undeclared(kb: KnowledgeBase, licences: Mapping[str, str] | None = None) -> list[str]:
    """Return the sources that are not recognised by their ids and have no stated licence.

    >>> find_undeclared(KnowledgeBase.open(getfixture("tiny_kb")))
    []
    """
    sources, by_label = kb.manifest.config["sources"], _prefixes_by_label(kb)
    joined = {prefix for prefix, _ in iter_prefixes(_find_joined_ids(kb))}
    strays: set[str] = set().union(*(by_label[label] for label in by_label.keys() - {_name(config) for config in sources}))
    found = []
    for config in sources:
        vocabulary, name = _vocabulary(config, kb), _name(config)
        is_stated = bool(_licence(config, vocabulary.title if vocabulary else "", licences or {}))
        if not is_stated and not _is_recognised(config, vocabulary, by_label.get(name, set()) | strays, joined):
            found.append(name)
    return found


def _is_recognised(config: Mapping[str, Any], vocabulary: Vocabulary | None, own: set[str], joined: set[str]) -> bool:
    """Return whether a source is recognised by its ids.

    `own` are the id prefixes of concepts that have names from the source, `joined` the id prefixes of joined concepts. A source
    with a known name may also have unknown prefixes, because ontologies import terms; otherwise all prefixes must be known.
    """
    if vocabulary:
        return not own or vocabulary.is_restricted or vocabulary.prefix in joined or any(map(_has_terms, own))
    stated = {canonical_prefix(config["prefix"])} if config["prefix"] else set()
    return not config.get("only_joined") and all(map(_has_terms, own | joined | stated))


def _has_terms(prefix: str) -> bool:
    return bool(find_vocabulary(prefix).redistribution)


def _prefixes_by_label(kb: KnowledgeBase) -> dict[str, set[str]]:
    """Return, for each source label, the id prefixes of the concepts that have names from it."""
    found: dict[str, set[str]] = {}
    starts = list(iter_prefixes(kb.concept_ids))
    ends = [*(row for _, row in starts[1:]), len(kb.concept_ids)]
    for (prefix, start), end in zip(starts, ends, strict=True):
        for row in np.unique(kb.sources_of(start, end)):
            found.setdefault(kb.sources[int(row)], set()).add(prefix)
    return found


def _find_joined_ids(kb: KnowledgeBase) -> Strings:
    """Return the ids of concepts that were joined into another concept. Other cross-references are not included."""
    return Strings.of(join_frame(kb)["alias"].to_list())


@cache
def _with_terms() -> tuple[Vocabulary, ...]:
    """Return the vocabularies whose licence terms are known, strictest first."""
    known = (each for each in vocabularies().values() if each.redistribution)
    return tuple(sorted(known, key=lambda each: ("no", "unaltered", "yes").index(each.redistribution)))


def _vocabulary(config: Mapping[str, Any], kb: KnowledgeBase) -> Vocabulary | None:
    """Return the vocabulary of a source in the recipe, by its name, path, format and prefix; None if unknown."""
    path = config["path"]
    inputs = (each.name for each in kb.manifest.inputs if each.name == path or each.name.startswith(f"{path}/"))
    text = " ".join((config["name"], path, config["format"], config["prefix"], *inputs)).lower()
    return next((each for each in _with_terms() if each.is_meant(text)), None)


def _name(config: Mapping[str, Any]) -> str:
    return str(config["name"] or config["path"].rpartition("/")[2].split(".")[0])


def _licence(config: Mapping[str, Any], title: str, licences: Mapping[str, str]) -> str:
    """Return the stated licence of a source: from the options of this pack, else from the recipe of the KB."""
    return value_for(licences, _name(config), title) or str(config.get("licence", ""))


def _release(*texts: str) -> str:
    """Return the release found in names or paths; a full date is preferred to a year.

    >>> _release("MONDO", "ontologies/MONDO-ontology-v2026-05-05.json.zst"), _release("MeSH 2024", "mesh.tsv"), _release("a")
    ('2026-05-05', '2024', '')
    """
    found = [match for text in texts for match in _RELEASE.findall(text)]
    return max(found, key=len, default="")


def _require_unaltered(vocabulary: Vocabulary, recipe: Mapping[str, Any], source: Mapping[str, Any], release: str) -> None:
    title = vocabulary.title
    if _is_altered(vocabulary, recipe, source):
        what = f"{title} may only be redistributed unaltered, but the recipe of the knowledge base drops some of it"
        raise ConfigError("pack-altered", what, fix=f"build the knowledge base from all of {title}")
    if not release:
        what = f"a pack must state the version of {title}, but neither the name nor the path of the source contains it"
        raise ConfigError("pack-release", what, fix=f"add --release {title}=VERSION")


def _is_altered(vocabulary: Vocabulary, recipe: Mapping[str, Any], source: Mapping[str, Any]) -> bool:
    """Return whether the recipe drops or changes a part of this source. Filters that keep all of it are allowed."""
    labels, kept = recipe.get("vocabularies", ()), recipe.get("only_groups", ())
    groups = {*vocabulary.groups, *source.get("groups", ())}
    return bool(
        source.get("only_joined")
        or source.get("as_synonyms")
        or any(recipe.get(key) for key in _CHANGES)
        or recipe["shared_names"] != "keep"
        or (labels and _name(source) not in labels)
        or (kept and not groups.intersection(kept))
    )


def value_for(values: Mapping[str, str], *names: str) -> str:
    """Return the value for the first of these names that is a key, ignoring case; empty if none is.

    >>> value_for({"hpo": "2026-01-08"}, "phenotypes", "HPO")
    '2026-01-08'
    """
    folded = {name.casefold(): value for name, value in values.items()}
    return next((folded[name.casefold()] for name in names if name.casefold() in folded), "")


def parse_named_values(options: Iterable[str], option: str) -> dict[str, str]:
    """Parse `NAME=VALUE` options into a dict.

    >>> parse_named_values(["HPO=2026-01-08"], "--release")
    {'HPO': '2026-01-08'}
    """
    found = {}
    for each in options:
        name, equals, value = each.partition("=")
        if not (name.strip() and equals and value.strip()):
            raise ConfigError("config-invalid", f"{option} is not NAME=VALUE", fix=f"write it as in {option} HPO=2026-01-08")
        found[name.strip()] = value.strip()
    return found
