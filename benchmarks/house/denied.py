"""Where the project still says a word of its own instead of the field's."""

from __future__ import annotations

import ast
import gzip
import json
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.house.prose import iter_code_spans, iter_examples, iter_python_prose
from benchmarks.house.source_names import iter_definitions, iter_names
from benchmarks.house.words import UNIQUE, denied_phrases, denied_words

CODE = ("src", "tests", "benchmarks")
TREE = (*CODE, "docs", "results", ".ci", ".github")
# They define the words and plant them.
OWN_FILES = frozenset(("benchmarks/house/words.py", "tests/benchmarks/test_house.py"))


@dataclass(frozen=True)
class Finding:
    """A denied word, and where it is."""

    file: str
    line: int
    kind: str
    name: str
    word: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.kind} {self.name!r}: {self.word}"


def find_denied(root: Path) -> list[Finding]:
    """Return each denied word of a project, by file and line; a name counts once per file."""
    found = [finding for path in iter_files(root) for finding in _of_file(root, path)]
    return [*_once(found), *find_duplicates(root)]


def iter_files(root: Path) -> Iterator[Path]:
    """Yield the files of the project that are kept: no caches, no hidden ones."""
    yield from sorted(path for path in root.iterdir() if path.is_file() and path.suffix in (".md", ".toml", ".yml", ".py"))
    for folder in TREE:
        yield from (path for path in sorted((root / folder).rglob("*")) if path.is_file() and "__pycache__" not in path.parts)


def find_duplicates(root: Path) -> list[Finding]:
    """Return the second and further definitions of the names that must have one."""
    seen: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for path in sorted((root / "src").rglob("*.py")):
        for line, name in iter_definitions(ast.parse(path.read_text("utf-8"))):
            if name in UNIQUE:
                seen[name].append((_relative(root, path), line))
    return [Finding(*spot, "definition", name, f"{name} again") for name in UNIQUE for spot in seen[name][1:]]


def _of_file(root: Path, path: Path) -> Iterator[Finding]:
    name = _relative(root, path)
    yield from _names(name, [(0, path.relative_to(root).as_posix())], "file")
    if name in OWN_FILES:
        return
    match path.suffix:
        case ".py":
            source = path.read_text("utf-8")
            tree = ast.parse(source)
            yield from _names(name, iter_names(tree), "name")
            yield from _prose(name, iter_python_prose(source, tree))
        case ".md":
            page = path.read_text("utf-8")
            yield from _names(name, iter_code_spans(page), "code")
            for line, example in iter_examples(page):
                yield from _names(name, ((line, bound) for _, bound in iter_names(example)), "code")
            yield from _prose(name, [(1, page)])
        case ".json" | ".toml" | ".gz":
            yield from _names(name, ((0, key) for key in _keys(_data(path))), "key")
        case _:
            return


def _names(file: str, names: Iterable[tuple[int, str]], kind: str) -> Iterator[Finding]:
    in_product = file.startswith("src/")
    for line, name in names:
        yield from (Finding(file, line, kind, name, word) for word in denied_words(name, dataset_words=in_product))


def _prose(file: str, blocks: Iterable[tuple[int, str]]) -> Iterator[Finding]:
    for first, text in blocks:
        for offset, phrase in denied_phrases(text):
            yield Finding(file, first + text.count("\n", 0, offset), "phrase", phrase, phrase.lower())


def _data(path: Path) -> object:
    """Return what a data file says; of a file of predictions its header."""
    if path.suffix == ".toml":
        return tomllib.loads(path.read_text("utf-8"))
    if path.suffix == ".json":
        return json.loads(path.read_text("utf-8"))
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return json.loads(next(lines, "null"))


def _keys(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (str(key) for key in value)
        yield from (key for inner in value.values() for key in _keys(inner))
    elif isinstance(value, list):
        yield from (key for inner in value for key in _keys(inner))


def _once(findings: Iterable[Finding]) -> list[Finding]:
    first: dict[tuple[str, str, str, str, int], Finding] = {}
    for finding in findings:
        line = finding.line if finding.kind == "phrase" else 0
        first.setdefault((finding.file, finding.kind, finding.name, finding.word, line), finding)
    return list(first.values())


def _relative(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()
