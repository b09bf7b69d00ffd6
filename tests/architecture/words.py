"""Finds uses of words that Onym avoids, because the field has a common term."""

from __future__ import annotations

import ast
import gzip
import io
import json
import re
import tokenize
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

# Denied words. Use instead: row, rank, path, offset; derived; expand; score_candidates; windows; negatives; queries; context;
# describe; preserved; open; choose; filter; dim; max_*; eval_steps; max_grad_norm; min_length; cache_size; similarity ...
WORDS = frozenset(
    (
        *("place", "places", "beside", "given", "sight", "sights", "rival", "rivals", "asked", "surroundings", "setting"),
        *("told", "tell", "held", "opened", "chosen", "trust", "wide", "longest", "shortest", "most", "every", "clip"),
        *("remembered", "sure", "claims", "likeness"),
    )
)
PAIRS = frozenset((("written", "out"), ("as", "written")))
USUAL = frozenset((("held", "out"),))  # allowed pairs of words, because they are terms of the field: held-out data
DATASET_WORDS = frozenset(("benchmark", "benchmarks"))  # denied in src, where a corpus with splits is called a dataset

# Classes that must have only one definition.
UNIQUE = ("Span", "Progress", "Answer", "Stage", "Known", "Place")

# Denied names that are allowed because protocols of other libraries require them: file objects have `tell`.
FOREIGN = frozenset(("tell",))

# Denied phrases, as patterns in which a space matches any white space.
PHRASES = (
    r"from what a(?: biomedical)? text says",
    r"by equal names",
    r"\blikeness(?:es)?\b",
    r"\bwritten[ -]out\b",
    r"\bwrit(?:es?|ing) (?:\w+ ){0,3}out\b",
    r"among those of the knowledge base and no others",
    r"lets? it write the name",
    r"\blost: text\b",
    r"either a knowledge base or a pipeline links",
    r"below it are none",
    r"may lie (?:inside|in) each other",
    r"\bone (?:\w+ )?a line\b",
    r"whose ids stand in",
    r"\b(?:within|out of|in) reach\b",
    r"learns? from its own (?:wrong answers|mistakes)",
    r"\bstopped,? (?:\w+ ){0,4}goes on\b",
    r"\bgoes on where (?:it|they)\b",
    r"\btells? what leaks\b",
    r"\bas (?:it|they) comes?\b",
    r"for what may be lost",
    r"must not be believed",
    r"artefact-torn",
    r"in one published step",
    r"how far [\w@`]+(?: @ ?1)? may be off",
    r"(?:documents|mentions) are drawn again",
    r"where it is good, and where not",
    r"\bplaces? of (?:the )?gold\b",
    r"\b(?:is|are|was|were|be|if|not|being|so) sure\b",
    r"\bsure (?:of|enough|answers?)\b",
    r"\blike mentions\b",
)

TREE = ("src", "tests", "benchmarks", "docs", "results", ".ci", ".github")
# These files contain denied words on purpose, so they are not checked.
OWN_FILES = frozenset(("tests/architecture/words.py", "tests/benchmarks/test_house.py"))
_OPTION = re.compile(r"--[a-z][a-z0-9-]*")
_COMMENT = re.compile(r"(?m)^[ \t]*#[:!]?[ ]?")
_CODE_SPAN = re.compile(r"`([^`\s]+)`")
_PYTHON_BLOCK = re.compile(r"(?ms)^```python\n(.*?)^```")
Found = tuple[int, str]  # line number, and the name or text that begins there


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
    """Return all denied words of a project with file and line; a name is reported once per file."""
    found = [finding for path in iter_files(root) for finding in _of_file(root, path)]
    return [*_once(found), *find_duplicates(root)]


def iter_files(root: Path) -> Iterator[Path]:
    """Yield the files of the project, except hidden files and caches."""
    yield from sorted(path for path in root.iterdir() if path.is_file() and path.suffix in (".md", ".toml", ".yml", ".py"))
    for folder in TREE:
        yield from (path for path in sorted((root / folder).rglob("*")) if path.is_file() and "__pycache__" not in path.parts)


def find_duplicates(root: Path) -> list[Finding]:
    """Return repeated definitions of names that must have only one."""
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
        case ".json" | ".toml" | ".gz" if not name.endswith(".txt.gz"):
            yield from _names(name, ((0, key) for key in _keys(_data(path))), "key")
        case _:
            return


def _names(file: str, names: Iterable[tuple[int, str]], kind: str) -> Iterator[Finding]:
    in_product = file.startswith("src/")
    for line, name in names:
        yield from (Finding(file, line, kind, name, word) for word in find_denied_words(name, dataset_words=in_product))


def _prose(file: str, blocks: Iterable[tuple[int, str]]) -> Iterator[Finding]:
    for first, text in blocks:
        for offset, phrase in find_denied_phrases(text):
            yield Finding(file, first + text.count("\n", 0, offset), "phrase", phrase, phrase.lower())


def _data(path: Path) -> object:
    """Return the contents of a data file; for a predictions file, only its header."""
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


def iter_names(tree: ast.AST) -> Iterator[Found]:
    """Yield line and name of each binding. Names that are only used, such as those of other libraries, are not checked."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        yield from ((line, name) for name in _iter_bound_names(node))


def _iter_bound_names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            yield name
        case ast.alias(asname=str(name)) | ast.ExceptHandler(name=str(name)):
            yield name
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name
        case ast.Dict(keys=keys):
            yield from (key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str))
        case ast.Subscript(slice=ast.Constant(value=str(name)), ctx=ast.Store()):
            yield name
        case ast.Constant(value=str(text)) if _OPTION.match(text):
            yield from _OPTION.findall(text)
        case ast.Call(func=ast.Name(id="dict" | "Annotated")):
            yield from (keyword.arg for keyword in node.keywords if keyword.arg)
        case _:
            return


def iter_definitions(tree: ast.Module) -> Iterator[Found]:
    """Yield the classes and aliases of a module's top level, without a leading underscore."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.lineno, node.name.lstrip("_")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((node.lineno, name.id.lstrip("_")) for name in targets if isinstance(name, ast.Name))


def iter_python_prose(source: str, tree: ast.AST) -> Iterator[Found]:
    """Yield the line where each string or run of comments begins, with its text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
    yield from _comments(source)


def _comments(source: str) -> Iterator[Found]:
    """Yield runs of comments, because a phrase may continue on the next line."""
    first, last, texts = 0, 0, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        line = token.start[0]
        if line != last + 1 and texts:
            yield first, "\n".join(texts)
            texts = []
        first, last = (line, line) if not texts else (first, line)
        texts.append(_COMMENT.sub("", token.string))
    if texts:
        yield first, "\n".join(texts)


def iter_code_spans(page: str) -> Iterator[Found]:
    """Yield line and text of each inline code span (in backticks) on a page that is a single word."""
    for match in _CODE_SPAN.finditer(page):
        yield page.count("\n", 0, match.start()) + 1, match.group(1)


def iter_examples(page: str) -> Iterator[tuple[int, ast.AST]]:
    """Yield the first line and source of each Python example; for doctests, only the statements."""
    for match in _PYTHON_BLOCK.finditer(page):
        lines = match.group(1).splitlines()
        typed = [line[4:] for line in lines if line.startswith((">>> ", "... "))]
        with suppress(SyntaxError):  # an example on a page may be part of a program, which does not parse
            yield page.count("\n", 0, match.start()) + 1, ast.parse("\n".join(typed or lines))


def find_denied_words(name: str, *, dataset_words: bool = False) -> Iterator[str]:
    """Yield the denied words of an identifier, an option, a key or a file name.

    >>> list(find_denied_words("first_place")), list(find_denied_words("placeholder")), list(find_denied_words("WrittenOut"))
    (['place'], [], ['written_out'])
    >>> list(find_denied_words("held_out")), list(find_denied_words("held_back"))
    ([], ['held'])
    """
    if name in FOREIGN:
        return
    words = split(name)
    denied = WORDS | DATASET_WORDS if dataset_words else WORDS
    followed = zip(words, [*words[1:], ""], strict=False)
    yield from (word for word, after in followed if word in denied and (word, after) not in USUAL)
    yield from ("_".join(pair) for pair in pairwise(words) if pair in PAIRS)


def split(name: str) -> list[str]:
    """Split a name into lower-case words at underscores, hyphens, dots and changes of case.

    >>> split("max_span-tokens.KBReader2")
    ['max', 'span', 'tokens', 'kb', 'reader', '2']
    """
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def find_denied_phrases(text: str) -> Iterator[tuple[int, str]]:
    """Yield the offset of each denied phrase in a text, and the phrase.

    >>> list(find_denied_phrases("ranked by  likeness"))
    [(11, 'likeness')]
    """
    for match in _phrases().finditer(text):
        yield match.start(), " ".join(match.group().split())


@cache
def _phrases() -> re.Pattern[str]:
    return re.compile("|".join(phrase.replace(" ", r"\s+") for phrase in PHRASES), re.IGNORECASE)
