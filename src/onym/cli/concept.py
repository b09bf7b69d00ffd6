"""How `onym kb show` prints a concept: as rows, as a tree, and as JSON values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

from onym.types import Concept, Relative, Successor, select_relatives

if TYPE_CHECKING:
    from onym.kb import KnowledgeBase
    from onym.kb.retired import Resolution

_MAX_PATHS = 12  # paths in a tree
_MAX_DEPTH = 100  # levels of a path in a tree, the lowest ones
_MAX_CHILDREN = 15  # children in a tree
_INDENT = "  "
Row = tuple[str, str]


def concept_rows(kb: KnowledgeBase, concept: Concept) -> list[Row]:
    """Return the facts about a concept as pairs of a label and a value."""
    return [
        ("id", concept.id),
        *(("alternative id", other) for other in concept.alternative_ids),
        *((term.kind.label, f"{term.form}  [{', '.join(term.sources)}]") for term in concept.terms),
        *_parent_rows(kb, concept),
        *(("group", name) for name in concept.groups),
        *(("type", name) for name in concept.types),
        *(("definition", text) for text in concept.definitions),
        *(("xref", xref) for xref in concept.xrefs),
    ]


def list_successor_rows(kb: KnowledgeBase, found: Resolution) -> list[Row]:
    """Return what became of an id, if it is retired: a row for the id, and one for each successor."""
    if found.how not in ("replaced", "retired"):
        return []
    successors = [(each.kind.label, _label_successor(kb, each)) for each in kb.successors(found.matched)]
    if not successors:
        successors = [("replaced by", _label(kb, row)) for row in found] or [("successor", "none known")]
    return [("retired id", found.matched), *successors]


def tree_lines(kb: KnowledgeBase, row: int) -> Iterator[str]:
    """Yield the paths from the top to a concept as an indented tree. The concept is marked, and its children follow."""
    paths, parents_of = kb.hierarchy.paths(row, _MAX_PATHS + 1), kb.hierarchy.parents_of
    previous: tuple[int, ...] = ()
    below = list(_lines_below(kb, row))
    for number, path in enumerate(sorted(paths[:_MAX_PATHS])):
        hidden = max(0, len(path) - _MAX_DEPTH)
        if hidden:
            yield f"... {hidden:,} levels above"
        for depth in range(max(hidden, _count_shared(previous, path)), len(path)):
            mark = "* " * (path[depth] == row)
            sources = _describe_sources(kb, parents_of(path[depth]), kb.concept_ids[path[depth - 1]]) if depth else ""
            yield f"{_INDENT * (depth - hidden)}{mark}{_label(kb, path[depth])}{sources}"
        indent = _INDENT * (len(path) - hidden + 1)
        yield from (indent + line for line in (below if not number else ["... as above"] * bool(below)))
        previous = path
    if len(paths) > _MAX_PATHS:
        yield f"... more than {_MAX_PATHS} paths"


def _count_shared(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """Return the length of the common beginning of two paths."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def concept_values(kb: KnowledgeBase, found: Resolution, *, tree: bool) -> dict[str, Any]:
    """Return the facts about an id, its concept and, with `tree`, the concepts around it, as JSON values."""
    resolved = {"matched": found.matched, "how": found.how}
    successors = [{**asdict(each), "kind": each.kind.label} for each in kb.successors(found.matched)]
    if not found:
        return {"id": found.matched, **resolved, "successors": successors}
    concept = kb.concept(found[0])
    values: dict[str, Any] = {
        "id": concept.id,
        **resolved,
        "successors": successors,
        "terms": [{**asdict(term), "kind": term.kind.label} for term in concept.terms],
        **{name: getattr(concept, name) for name in ("types", "definitions", "xrefs", "alternative_ids", "groups")},
        "parents": _relatives(concept.parents),
    }
    if tree:
        paths = kb.hierarchy.paths(found[0], _MAX_PATHS + 1)
        values["children"] = _relatives(concept.children)
        values["paths"] = [[_id_and_name(kb, row) for row in path] for path in paths[:_MAX_PATHS]]
        values["more_paths"] = len(paths) > _MAX_PATHS
    return values


def _relatives(relatives: Iterable[Relative]) -> list[dict[str, str]]:
    return [each.to_dict("curie") for each in relatives]


def _id_and_name(kb: KnowledgeBase, row: int) -> dict[str, str]:
    return {"id": kb.concept_ids[row], "name": kb.preferred_form(row)}


def _parent_rows(kb: KnowledgeBase, concept: Concept) -> Iterator[Row]:
    """Yield a row for each parent and each mapped heading, whatever number of sources states it."""
    for is_mapped, label in ((False, "parent"), (True, "mapped to")):
        for parent_id, name in select_relatives(concept.parents, mapped=is_mapped).items():
            yield label, f"{parent_id} {name}{_describe_sources(kb, concept.parents, parent_id)}"


def _lines_below(kb: KnowledgeBase, row: int) -> Iterator[str]:
    """Yield the lines below a concept in its tree: mapped headings, children, and the number of records mapped to it."""
    concept = kb.concept(row)
    yield from (f"{label} {shown}" for label, shown in _parent_rows(kb, concept) if label == "mapped to")
    children, mapped = (select_relatives(concept.children, mapped=each) for each in (False, True))
    for child_id, name in islice(children.items(), _MAX_CHILDREN):
        yield f"{child_id} {name}{_describe_sources(kb, concept.children, child_id)}"
    if (rest := len(children) - _MAX_CHILDREN) > 0:
        yield f"... {rest:,} more {'child' if rest == 1 else 'children'}"
    if mapped:
        yield f"... {len(mapped):,} supplementary {'record is' if len(mapped) == 1 else 'records are'} mapped to it"


def _describe_sources(kb: KnowledgeBase, relatives: Iterable[Relative], relative_id: str) -> str:
    """Return kind and source of each relation to a relative, in brackets; empty if all parents are from one source."""
    if len(kb.hierarchy.parent_sources) < 2:
        return ""
    return f"  [{'; '.join(f'{each.kind.label}, {each.source}' for each in relatives if each.id == relative_id)}]"


def _label(kb: KnowledgeBase, row: int) -> str:
    return f"{kb.concept_ids[row]} {kb.preferred_form(row)}"


def _label_successor(kb: KnowledgeBase, successor: Successor) -> str:
    row = kb.concept_ids.find(successor.target)
    stated_by = ", ".join(filter(None, (successor.source, successor.release)))
    return f"{_label(kb, row) if row >= 0 else successor.target}  [{stated_by}]"
