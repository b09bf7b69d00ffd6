"""Finds functions named by a participle instead of a verb, and classes that share their name with another class."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

TREE = ("src", "benchmarks", "tests")
# Participles and adjectives that do not end in "ed". Words that are also verbs are left out: read, run, put, set, cut.
IRREGULAR = frozenset(
    (
        *(
            "broken",
            "brought",
            "built",
            "caught",
            "chosen",
            "done",
            "drawn",
            "driven",
            "fed",
            "found",
            "frozen",
            "given",
            "gone",
        ),
        *("got", "grown", "heard", "held", "hidden", "kept", "known", "laid", "learnt", "led", "left", "lost", "made", "meant"),
        *("met", "paid", "ready", "rebuilt", "rewritten", "said", "seen", "sent", "shown", "sold", "sought", "spent", "spoken"),
        *("stood", "struck", "taken", "taught", "thrown", "told", "torn", "understood", "withheld", "won", "written"),
    )
)
# Words that end in "ed" but are verbs or nouns.
NOT_PARTICIPLES = frozenset(
    ("bed", "embed", "exceed", "feed", "hundred", "need", "proceed", "pubmed", "red", "seed", "shed", "speed", "succeed")
)
# First words that make a name a verb with its object, or a boolean, even if a participle follows: `read_linked`, `is_known`.
FIRST_WORDS = frozenset(
    (
        *(
            "add",
            "answer",
            "are",
            "ask",
            "assert",
            "build",
            "can",
            "capture",
            "check",
            "collect",
            "count",
            "describe",
            "draw",
            "drop",
        ),
        *("dump", "expect", "explain", "fail", "fake", "find", "from", "has", "is", "iter", "judge", "list", "log", "look"),
        *(
            "make",
            "match",
            "measure",
            "merge",
            "open",
            "parse",
            "prepare",
            "rank",
            "read",
            "reject",
            "remove",
            "require",
            "resolve",
            "run",
        ),
        *("save", "score", "select", "skip", "sort", "stop", "summarise", "tabulate", "take", "to", "wait", "watch", "write"),
    )
)
# Exceptions: names that are part of a plug-in interface, another library or a file format, or that are terms of the field.
STAYING = frozenset(
    (
        *("preserved_facets", "preferred_name", "preferred_form", "concepts_named", "template_named"),
        *("expected_calibration_error", "paired_bootstrap", "connection_made", "connection_lost", "data_received"),
    )
)


def find_participles(root: Path) -> list[str]:
    """Return the functions and methods of a project that are named by a participle, as `file:line: name`."""
    return [
        f"{path.relative_to(root).as_posix()}:{node.lineno}: {node.name}"
        for path, tree in _iter_trees(root, TREE)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and is_participle(node.name)
    ]


def find_duplicate_classes(root: Path) -> list[str]:
    """Return classes in src with the name of another class, as `file:line: name`; leading underscores are ignored."""
    found: dict[str, list[str]] = defaultdict(list)
    for path, tree in _iter_trees(root, ("src/onym",)):
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found[node.name.lstrip("_")].append(f"{path.relative_to(root).as_posix()}:{node.lineno}: {node.name}")
    return [line for lines in found.values() for line in lines[1:]]


def _iter_trees(root: Path, folders: Iterable[str]) -> Iterator[tuple[Path, ast.Module]]:
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            yield path, ast.parse(path.read_text("utf-8"))


def is_participle(name: str) -> bool:
    """Return True if a function name is a participle or adjective instead of a verb.

    >>> [is_participle(name) for name in ("located", "_found_groups", "kind_named", "ready")]
    [True, True, True, True]
    >>> [is_participle(name) for name in ("locate", "read_linked", "is_known", "embed", "test_it_failed", "preferred_name")]
    [False, False, False, False, False, False]
    """
    words = name.strip("_").split("_")
    if name in STAYING or words[0] in FIRST_WORDS or words[0] == "test":
        return False
    # Of longer names, only the first word is checked, because they are sentences.
    judged = {words[0], words[-1]} if len(words) <= 3 else {words[0]}
    return any(word in IRREGULAR or (word.endswith("ed") and word not in NOT_PARTICIPLES) for word in judged)
