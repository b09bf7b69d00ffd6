"""KnowledgeBase: an opened artefact, memory-mapped, so that all processes share one copy.

Its columns (`a -> b`: for each row of a, one or more rows of b):

concepts        the ids, sorted                     concept.terms     offset of each concept's first term
names           the normalised names, sorted        name.concepts     name -> concepts
term.name       term -> name                        term.form         the name as written in the source
term.kind       NameKind                            term.language     -> languages
term.sources    term -> sources                     concept.types     concept -> types
concept.definitions, concept.xrefs                  aliases           other ids, sorted
alias.concept   alias -> concept, or NO_CONCEPT     alias.kind        AliasKind
concept.aliases concept -> aliases

The columns of the hierarchy and of retired ids are listed in `onym.kb.hierarchy` and `onym.kb.retired`; they are missing if
the sources state none, and in knowledge bases of older versions. Only if the recipe asks for them:

concept.groups  concept -> groups                   alias.rule        JoinRule, or NO_RULE if the alias is not a joined concept
term.lent       1 if the name comes only from joined concepts of other vocabularies
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from onym.errors import IntegrityError, UnknownConceptError
from onym.kb.groups import groups_of_type
from onym.kb.hierarchy import Hierarchy
from onym.kb.order import CandidateOrder, iter_prefixes
from onym.kb.retired import How, Resolution, RetiredIds, describe_successors
from onym.store.arrays import Ragged, Strings, corrupt
from onym.store.artefact import Artefact, Manifest
from onym.store.cache import Verify
from onym.text.normal import normal_name
from onym.types import Concept, Name, NameKind, Relative, Successor
from onym.vocabularies import canonical_prefix, find_vocabulary

KIND = "onym-kb"
FORMAT = 1
NO_CONCEPT = 0xFFFFFFFF
NO_RULE = 0xFF


_HOW: tuple[How, ...] = ("joined", "alternative", "replaced")  # by AliasKind
_MAX_LABELS = 200_000  # maximum number of concept labels cached in memory


class KnowledgeBase:
    """Concepts and their names, each addressed by its row in a sorted table.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> kb["mesh:D009203"].preferred_name
    'Myocardial Infarction'
    >>> [kb.concept_ids[c] for c in kb.concepts_named("Heart attack")]
    ['mesh:D009203']
    """

    def __init__(self, artefact: Artefact, prefer: Sequence[str] = ()) -> None:
        self.folder = artefact.folder
        self.digest = artefact.digest
        self.manifest: Manifest = artefact.manifest
        self.concept_ids: Strings = artefact.strings("concepts")
        self.names: Strings = artefact.strings("names")
        self.name_concepts: Ragged = artefact.read_ragged("name.concepts", len(self.concept_ids))
        self.concept_terms: npt.NDArray[np.uint32] = artefact.array("concept.terms").view(np.ndarray)
        self.term_names: npt.NDArray[np.uint32] = artefact.array("term.name").view(np.ndarray)
        self.term_forms: Strings = artefact.strings("term.form")
        self.term_kinds: npt.NDArray[np.uint8] = artefact.array("term.kind").view(np.ndarray)
        self.term_languages: npt.NDArray[np.uint16] = artefact.array("term.language").view(np.ndarray)
        self.term_lent: npt.NDArray[np.uint8] | None = artefact.array("term.lent") if artefact.has("term.lent") else None
        self.sources: Strings = artefact.strings("sources")
        self.term_sources: Ragged = artefact.read_ragged("term.sources", len(self.sources))
        self.languages: Strings = artefact.strings("languages")
        self.types: Strings = artefact.strings("types")
        self.concept_types: Ragged = artefact.read_ragged("concept.types", len(self.types))
        self.groups: Strings = artefact.strings("groups") if artefact.has("groups") else Strings.of([])
        self.concept_groups: Ragged = (
            artefact.read_ragged("concept.groups", len(self.groups))
            if artefact.has("groups")
            else _empty_lists(len(self.concept_ids))
        )
        self.definitions: Strings = artefact.strings("definitions")
        self.concept_definitions: Ragged = artefact.read_ragged("concept.definitions", len(self.definitions))
        self.xrefs: Strings = artefact.strings("xrefs")
        self.concept_xrefs: Ragged = artefact.read_ragged("concept.xrefs", len(self.xrefs))
        self.aliases: Strings = artefact.strings("aliases")
        self.alias_concepts: npt.NDArray[np.uint32] = artefact.array("alias.concept")
        self.alias_kinds: npt.NDArray[np.uint8] = artefact.array("alias.kind")
        self.alias_rules: npt.NDArray[np.uint8] | None = artefact.array("alias.rule") if artefact.has("alias.rule") else None
        self.concept_aliases: Ragged = artefact.read_ragged("concept.aliases", len(self.aliases))
        self.retired = RetiredIds(artefact, self.sources)
        self._terms = Ragged(self.concept_terms, self.term_names, into=len(self.names), name=f"{self.folder}, concept.terms")
        forms, terms = self.term_forms, self._terms  # not `self`: a reference to it would keep it open until garbage collection
        self.hierarchy = Hierarchy(artefact, self.concept_ids, self.sources, lambda row: forms[terms.span(row)[0]])
        self._artefact = artefact
        self._prefixes: tuple[str, ...] | None = None
        self._prefer = tuple(prefer)
        self._labels: dict[int, tuple[str, str]] = {}
        self._matches: dict[tuple[int, int], tuple[str, str, str, str]] = {}

    @classmethod
    def open(cls, folder: Path | str, *, verify: Verify = "once", prefer: Sequence[str] = ()) -> KnowledgeBase:
        """Open the knowledge base in `folder`; its checksums are verified the first time it is opened on a machine.

        `verify="full"` verifies them at every opening, and those of its tries and indexes too, to catch silent disk errors.
        Concepts of the vocabularies in `prefer` rank first among equal scores.
        """
        artefact = Artefact.open(Path(folder), KIND, FORMAT, verify)
        kb = cls(artefact, prefer)
        if artefact.is_new_here:
            kb.require_sound()
            artefact.remember()
        if prefer:
            _ = kb.order  # raises now if a vocabulary in `prefer` is unknown
        return kb

    @cached_property
    def order(self) -> CandidateOrder:
        """The tie-breaking order of candidates with equal scores, see `onym.kb.order`."""
        return CandidateOrder(self, self._prefer)

    @property
    def verify(self) -> Verify:
        """When checksums are verified, for the knowledge base and the caches derived from it."""
        return self._artefact.verify

    def require_intact(self) -> None:
        """Raise IntegrityError if a file has changed, so that no cache is derived from corrupt data."""
        self._artefact.require_intact()

    def __len__(self) -> int:
        """Return the number of concepts."""
        return len(self.concept_ids)

    def __repr__(self) -> str:
        return f"<KnowledgeBase {self.digest}: {len(self):,} concepts, {len(self.names):,} names>"

    def __getitem__(self, concept_id: str) -> Concept:
        """Return the concept with this id, alternative id or retired id; the prefix is optional, and case is ignored."""
        found = self.require_known(concept_id)
        if len(found) == 1:
            return self.concept(found[0])
        ids = ", ".join(self.concept_ids[c] for c in found[:5])
        raise UnknownConceptError(
            "concept-ambiguous", f"several concepts have the id {concept_id!r}: {ids}", fix="use one of these ids"
        )

    def __contains__(self, concept_id: object) -> bool:
        return isinstance(concept_id, str) and bool(self.resolve(concept_id))

    def __iter__(self) -> Iterator[Concept]:
        """Yield every concept, sorted by id."""
        return (self.concept(c) for c in range(len(self)))

    def find(self, name: str) -> int:
        """Normalise a name and return its row in `names`, or -1."""
        return self.names.find(normal_name(name))

    def concepts_named(self, name: str) -> list[int]:
        """Return the rows of the concepts that have this name, sorted."""
        row = self.find(name)
        return [int(c) for c in self.name_concepts[row]] if row >= 0 else []

    def is_name_of(self, concept_id: str, text: str) -> bool:
        """Return whether a text, in normal form, is a name of the concept with this id.

        >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
        >>> kb.is_name_of("mesh:D009203", "Heart-attack"), kb.is_name_of("mesh:D009203", "fever")
        (True, False)
        """
        row = self.find(text)
        return row >= 0 and self.concept_ids.find(concept_id) in self.name_concepts[row]

    def resolve(self, concept_id: str) -> Resolution:
        """Return the rows of the concepts with this id or alias, and how they were found.

        There are several if concepts share an alternative id. A retired id is followed only to a successor that surely means
        the same; `successors` has the others.

        >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
        >>> found = kb.resolve("omim:608446")
        >>> [kb.concept_ids[row] for row in found], found.how
        (['mesh:D009203'], 'alternative')
        """
        retired = ""
        for candidate in self._spellings(concept_id.strip()):
            row = self.concept_ids.find(candidate)
            if row >= 0:
                return Resolution((row,), candidate, "id")
            if found := self._find_aliases(candidate):
                return found
            retired = retired or (candidate if found.how == "retired" else "")
        return Resolution((), retired or concept_id, "retired" if retired else "unknown")

    def require_known(self, concept_id: str, where: str = "") -> Resolution:
        """Resolve an id, and raise UnknownConceptError if no concept has it; `where` names the option, for the error."""
        found = self.resolve(concept_id)
        if found:
            return found
        by_name = "with onym kb search"
        if found.how == "unknown":
            what, fix = f"no concept has the id {concept_id!r}", f"find its id by name {by_name}"
            raise UnknownConceptError("concept-unknown", what, where=where, fix=fix)
        successors = describe_successors(self.successors(found.matched))
        fix = f"use a successor: {successors}" if successors else f"find a concept by name {by_name}"
        raise UnknownConceptError("concept-retired", f"the id {found.matched!r} is retired", where=where, fix=fix)

    def successors(self, concept_id: str) -> tuple[Successor, ...]:
        """Return what the sources give for a retired id, the most certain first; empty if it is not retired."""
        return next((found for each in self._spellings(concept_id.strip()) if (found := self.retired.successors(each))), ())

    def parents_of(self, concept_id: str) -> tuple[Relative, ...]:
        """Return the parents and mapped headings of a concept; empty if the id is not that of a concept.

        >>> KnowledgeBase.open(getfixture("tiny_kb")).parents_of("mesh:D005334")
        ()
        """
        row = -1 if self.hierarchy.is_empty else self.concept_ids.find(concept_id)
        return self.hierarchy.parents_of(row) if row >= 0 else ()

    def distance(self, one: str, other: str, source: str = "") -> int | None:
        """Return the number of steps between two concepts through their nearest common ancestor, within one source.

        Without `source`, it is the least distance in any source. It is None if no source connects them.
        """
        rows = [self.concept_ids.find(self[each].id) for each in (one, other)]
        sources = (source,) if source else self.hierarchy.sources
        found = [self.hierarchy.distance(rows[0], rows[1], each) for each in sources]
        return min((steps for steps in found if steps is not None), default=None)

    def resolve_many(self, concept_ids: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return for each id the row of its concept, or -1 if the id is unknown or ambiguous.

        >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
        >>> [kb.concept_ids[c] for c in kb.resolve_many(["omim:608446", "mesh:D009203"])]
        ['mesh:D009203', 'mesh:D009203']
        """
        rows, aliases = self.concept_ids.find_many(concept_ids), self.aliases.find_many(concept_ids)
        for at in np.flatnonzero(rows < 0).tolist():
            concept_id, alias = concept_ids[at], int(aliases[at])
            found = (self._resolve_alias_at(alias, concept_id) if alias >= 0 else ()) or self.resolve(concept_id)
            rows[at] = found[0] if len(found) == 1 else -1
        return rows

    def concepts_with_id(self, concept_id: str) -> tuple[int, ...]:
        """Return the rows of all concepts with this id, as their own id or as an alternative id.

        >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
        >>> [kb.concept_ids[c] for c in kb.concepts_with_id("omim:608446")]
        ['mesh:D009203']
        """
        found: dict[int, None] = dict.fromkeys(self.resolve(concept_id))
        for candidate in self._spellings(concept_id.strip()):
            found |= dict.fromkeys(self._find_aliases(candidate))
        return tuple(found)

    def concept(self, row: int) -> Concept:
        """Return the concept at a row."""
        return Concept(
            id=self.concept_ids[row],
            terms=tuple(self._term(t) for t in range(*self._terms.span(row))),
            types=tuple(self.types[t] for t in self.concept_types[row]),
            groups=tuple(self.groups[g] for g in self.concept_groups[row]),
            definitions=tuple(self.definitions[d] for d in self.concept_definitions[row]),
            xrefs=tuple(self.xrefs[x] for x in self.concept_xrefs[row]),
            alternative_ids=tuple(self.aliases[a] for a in self.concept_aliases[row]),
            parents=self.hierarchy.parents_of(row),
            hierarchy=self.hierarchy,
        )

    def names_of(self, row: int) -> npt.NDArray[np.uint32]:
        """Return the rows of a concept's names, the preferred name first."""
        return self._terms[row]

    def kind_and_source(self, row: int, name: int) -> tuple[int, int]:
        """Return the NameKind of a concept's name, and the row in `sources` of the first source that has it.

        >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
        >>> kb.kind_and_source(kb.concept_ids.find("mesh:D005334"), kb.find("fever")) == (NameKind.PREFERRED, 0)
        True
        """
        term = self._term_of(row, name)
        return self._row(self.term_kinds, term, len(NameKind)), int(self.term_sources[term].min(initial=len(self.sources)))

    def is_lent(self, row: int, name: int) -> bool:
        """Return whether a concept has a name only from joined concepts of other vocabularies."""
        return self.term_lent is not None and bool(self.term_lent[self._term_of(row, name)])

    def form_of(self, row: int, name: int) -> str:
        """Return a concept's name as written in its source.

        >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
        >>> kb.form_of(kb.concept_ids.find("mesh:D009203"), kb.find("mi"))
        'MI'
        """
        return self.term_forms[self._term_of(row, name)]

    def _term_of(self, row: int, name: int) -> int:
        start, end = self._terms.span(row)
        (found,) = np.nonzero(self._terms.values[start:end] == name)
        if not len(found):
            raise corrupt("a concept has a name that is not among its terms", str(self.folder))
        return start + int(found[0])

    def sources_of(self, start: int, end: int) -> npt.NDArray[np.uint16]:
        """Return the sources of all names of the concepts in rows `start` to `end` (exclusive), as rows of `sources`."""
        terms = self._terms.span(start)[0], self._terms.span(end - 1)[1]
        if terms[0] >= terms[1]:
            return np.empty(0, dtype=np.uint16)
        return self.term_sources.values[self.term_sources.span(terms[0])[0] : self.term_sources.span(terms[1] - 1)[1]]

    def preferred_form(self, row: int) -> str:
        """Return the preferred name of a concept, as written in its source."""
        start, end = self._terms.span(row)
        if start == end:
            raise corrupt("a concept has no names", str(self.folder))
        return self.term_forms[start]

    def label_of(self, row: int) -> tuple[str, str]:
        """Return the preferred name of a concept and its semantic group, or its first type if it has no group.

        >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
        >>> kb.label_of(kb.concept_ids.find("mesh:D005334"))
        ('Fever', 'Disease')
        """
        found = self._labels.get(row)
        if found is None:
            found = self.preferred_form(row), self._group_of(row)
            if len(self._labels) < _MAX_LABELS:
                self._labels[row] = found
        return found

    def match_of(self, row: int, name: int) -> tuple[str, str, str, str]:
        """Return the id of a concept, a name of it and its preferred name as written in their sources, and its semantic group.

        >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
        >>> kb.match_of(kb.concept_ids.find("mesh:D009203"), kb.find("mi"))
        ('mesh:D009203', 'MI', 'Myocardial Infarction', 'Disease')
        """
        found = self._matches.get((row, name))
        if found is None:
            found = self.concept_ids[row], self.form_of(row, name), *self.label_of(row)
            if len(self._matches) < _MAX_LABELS:
                self._matches[row, name] = found
        return found

    def _group_of(self, row: int) -> str:
        if len(groups := self.concept_groups[row]):
            return self.groups[int(groups[0])]
        types = [self.types[int(each)] for each in self.concept_types[row]]
        of_types = (group for each in types for group in groups_of_type(each))
        return next(chain(of_types, find_vocabulary(self.concept_ids[row].partition(":")[0]).groups, types), "")

    def species_of(self, row: int) -> tuple[str, ...]:
        """Return the species of a gene or cell line as ids of NCBI Taxonomy, such as `ncbitaxon:9606`; empty if not stated.

        They are semantic types of the concept. A hybrid cell line has several.
        """
        types = (self.types[int(each)] for each in self.concept_types[row])
        return tuple(each for each in types if each.startswith("ncbitaxon:"))

    def report(self) -> dict[str, Any]:
        """Return the build report: counts of dropped rows and merges; if any, ignored files, refused joins, cycles."""
        return dict(self._artefact.json("report.json"))

    def require_sound(self) -> None:
        """Raise IntegrityError if the lengths of columns disagree or a row number is out of range."""
        terms = len(self.term_names)
        for name, column in (("concepts", self.concept_ids), ("names", self.names), ("term.form", self.term_forms),
                             ("sources", self.sources), ("languages", self.languages), ("types", self.types),
                             ("groups", self.groups),
                             ("definitions", self.definitions), ("xrefs", self.xrefs), ("aliases", self.aliases)):  # fmt: skip
            column.require_sound(name)
        Ragged(self.concept_terms, self.term_names).require_sound("concept.terms", len(self.names))
        self.name_concepts.require_sound("name.concepts", len(self))
        self.term_sources.require_sound("term.sources", len(self.sources))
        self.concept_types.require_sound("concept.types", len(self.types))
        self.concept_groups.require_sound("concept.groups", len(self.groups))
        self.concept_definitions.require_sound("concept.definitions", len(self.definitions))
        self.concept_xrefs.require_sound("concept.xrefs", len(self.xrefs))
        self.concept_aliases.require_sound("concept.aliases", len(self.aliases))
        self.hierarchy.require_sound()
        self.retired.require_sound()
        known = self.alias_concepts[self.alias_concepts != NO_CONCEPT]
        lengths = (
            len(self.name_concepts) == len(self.names),
            len(self.concept_terms) == len(self) + 1,
            len(self.concept_types)
            == len(self.concept_groups)
            == len(self.concept_definitions)
            == len(self.concept_xrefs)
            == len(self.concept_aliases)
            == len(self),
            len(self.term_forms) == len(self.term_kinds) == len(self.term_languages) == len(self.term_sources) == terms,
            len(self.aliases) == len(self.alias_concepts) == len(self.alias_kinds),
            self.alias_rules is None or len(self.alias_rules) == len(self.aliases),
            self.term_lent is None or len(self.term_lent) == terms,
            not terms or int(self.term_kinds.max()) < len(NameKind),
            not terms or int(self.term_languages.max()) < len(self.languages),
            not len(known) or int(known.max()) < len(self),
        )
        if not all(lengths):
            raise IntegrityError(
                "artefact-corrupt", "the columns have inconsistent lengths", where=str(self.folder), fix="build it again"
            )

    def _term(self, term: int) -> Name:
        return Name(
            text=self.names[self._row(self.term_names, term, len(self.names))],
            form=self.term_forms[term],
            kind=NameKind(self._row(self.term_kinds, term, len(NameKind))),
            language=self.languages[self._row(self.term_languages, term, len(self.languages))],
            sources=tuple(self.sources[int(s)] for s in self.term_sources[term]),
        )

    def _row(self, column: npt.NDArray[Any], row: int, into: int) -> int:
        """Return entry `row` of a column; raise if it is not a row of a table of length `into`."""
        found = int(column[row])
        if found >= into:
            raise corrupt("a column points beyond its table", str(self.folder))
        return found

    def _find_aliases(self, alias: str) -> Resolution:
        return self._resolve_alias_at(self.aliases.lower_bound(alias.encode("utf-8", "surrogatepass")), alias)

    def _resolve_alias_at(self, row: int, alias: str) -> Resolution:
        """Return the concepts of an alias, given its first row in the sorted aliases."""
        key, found = alias.encode("utf-8", "surrogatepass"), []
        how: How = "unknown"
        while row < len(self.aliases) and self.aliases.bytes_at(row) == key:
            if int(self.alias_concepts[row]) != NO_CONCEPT:
                found.append(self._row(self.alias_concepts, row, len(self)))
                how = _HOW[self._row(self.alias_kinds, row, len(_HOW))]
            elif not found:
                how = "retired"
            row += 1
        return Resolution(found, alias, how)

    def _spellings(self, concept_id: str) -> Iterator[str]:
        """Yield the ids to look up: as given, with each possible prefix, and in upper case."""
        yield concept_id
        prefix, colon, local = concept_id.partition(":")
        prefixes = (canonical_prefix(prefix),) if colon else self._list_prefixes()
        for known in prefixes:
            for spelling in dict.fromkeys(((local if colon else concept_id), (local if colon else concept_id).upper())):
                yield f"{known}:{spelling}"

    def _list_prefixes(self) -> tuple[str, ...]:
        """Return the distinct prefixes of the concept ids, then those of the aliases."""
        if self._prefixes is None:
            known = (*iter_prefixes(self.concept_ids), *iter_prefixes(self.aliases))
            self._prefixes = tuple(dict.fromkeys(prefix for prefix, _ in known))
        return self._prefixes


def _empty_lists(count: int) -> Ragged:
    return Ragged(np.zeros(count + 1, dtype="<u4"), np.empty(0, dtype="<u4"), into=0)
