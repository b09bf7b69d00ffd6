"""What the commands that link share: the choice of a linker, and of the concepts that may be answers."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import typer

if TYPE_CHECKING:
    from onym.kb import KnowledgeBase
    from onym.kb.masks import ConceptMask
    from onym.store.files.source import Source

LINKER = typer.Option(
    help="Short name of the linker: exact, tfidf, dense, generative, collective, cascade, rerank, or that of a plug-in."
)
KB = typer.Option("--kb", help="The knowledge base.")
TYPES = typer.Option(help="Only concepts of these semantic groups or types, separated by commas.")
CONCEPTS = typer.Option(help="Only the concepts listed in this file, one id per line.")
PREFER = typer.Option(
    help="Vocabularies that win ties, in this order, separated by commas: mesh,mondo. By default the order of the recipe."
)
RESTRICT = typer.Option(
    "--restrict",
    help="With --types or --concepts: ignore all other concepts. By default they compete, and a mention whose best concept is "
    "one of them is left unlinked (NIL).",
)
VERIFY = typer.Option(
    help="full: verify the SHA-256 of all files of the knowledge base, its tries and indexes, and the models. "
    "once: only the first time on this machine, or if a file has changed since."
)
PRECISION = typer.Option(
    help="Target precision, such as 0.95, for a calibrated pipeline: less confident answers are left unlinked (NIL), and their "
    "candidates are kept."
)
COVERAGE = typer.Option(
    help="Target coverage, such as 0.90, for a calibrated pipeline: the smallest set of candidates that contains the right "
    "concept this often (conformal prediction)."
)
ASSERTION = typer.Option(
    "--assertion",
    help="Mark mentions that are negated, possible, historical, hypothetical or about a family member (NegEx, ConText). "
    "No link is dropped.",
)
TOP_K = typer.Option(min=1, max=1000, help="Maximum number of candidates per mention.")


def allowed(kb: KnowledgeBase, types: str, concepts: Path | None) -> ConceptMask | None:
    """Return the concepts that may be answers; None is all of them."""
    from onym.kb.masks import select_concepts

    return select_concepts(kb, listed(types), list(ids_in(concepts)) if concepts else ())


def require_either(kb: Path | None, pipeline: Path | None, *, has_own: bool) -> None:
    """Refuse both and neither, and options of a linker (`has_own`) beside a pipeline."""
    from onym.errors import ConfigError

    if (kb is None) == (pipeline is None):
        fix = "give --pipeline (starter comes with Onym), or --kb and perhaps --linker"
        raise ConfigError("config-invalid", "one of --kb and --pipeline is needed", fix=fix)
    if pipeline is not None and has_own:
        what = "a pipeline has its own linker and options"
        raise ConfigError("config-invalid", what, fix="build another with onym pipeline build")


def require_pipeline(pipeline: Path | None, precision: float | None, coverage: float | None) -> None:
    """Refuse a precision or a coverage without a pipeline, which alone is calibrated."""
    from onym.errors import ConfigError

    if pipeline is None and (precision is not None or coverage is not None):
        what = "--precision and --coverage need a calibrated pipeline"
        raise ConfigError("config-invalid", what, fix="give --pipeline, after onym calibrate")


def listed(words: str) -> tuple[str, ...]:
    """Return what is separated by commas."""
    return tuple(word.strip() for word in words.split(",") if word.strip())


def ids_in(path: Path) -> Iterator[str]:
    """Yield the lines of a file that are not empty."""
    from onym.store.files.lines import iter_blocks
    from onym.store.files.source import InputFile

    lines = (line for block in iter_blocks(InputFile.from_path(path)) for line in block.data.decode().splitlines())
    return (line.strip() for line in lines if line.strip())


@contextmanager
def open_sources(names: Sequence[str | Path], *, follow_links: bool = False, texts: bool = False) -> Iterator[list[Source]]:
    """Give what paths lead to, opened; `-` is standard input. Files of several sources have their path before their names.

    With `texts`, a name that is no path is a text itself.
    """
    from onym.store.files.source import Source, spooled

    def open_one(name: str, number: int) -> Source:
        if texts and name != "-" and _is_text(name):
            return _text_source(name, number)
        is_stdin = name == "-"
        source = stack.enter_context(spooled(_standard_input())) if is_stdin else Source.open(name, follow_links=follow_links)
        return source if len(names) == 1 else source.under(name)

    with ExitStack() as stack:
        yield [open_one(str(name), number) for number, name in enumerate(names, 1)]


def _is_text(name: str) -> bool:
    """Tell whether an argument is a text: no path leads there, and it does not look like one that was mistyped."""
    looks_like_a_path = bool(Path(name).suffix) or "/" in name
    return not _exists(name) and (not looks_like_a_path or any(letter.isspace() for letter in name))


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # too long to be a path, or with a character that no path has
        return False


def _text_source(text: str, number: int) -> Source:
    from onym.store.files.source import InputFile, Source

    return Source.of_files("texts", [InputFile.from_bytes(f"{number}.txt", text.encode("utf-8", "replace"))])


def _standard_input() -> BinaryIO:
    from onym.errors import InputError

    if sys.stdin is None:
        raise InputError("input-missing", "standard input is closed", fix="name a file, or pipe one into the command")
    return sys.stdin.buffer
