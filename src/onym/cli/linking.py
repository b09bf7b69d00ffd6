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
    help="Short name of the linker: exact, tfidf, dense, generative, collective, cascade, rerank, or a plug-in's."
)
KB = typer.Option("--kb", help="The knowledge base.")
TYPES = typer.Option(help="Only concepts of these semantic groups or types, separated by commas.")
CONCEPTS = typer.Option(help="Only the concepts listed in this file, one id per line.")
PREFER = typer.Option(
    help="Vocabularies that come first where scores are equal, separated by commas: mesh,mondo. Else the order of the recipe."
)
RESTRICT = typer.Option(
    "--restrict",
    help="With --types or --concepts: ignore the other concepts. Else they compete: a mention that means one is left unlinked.",
)
VERIFY = typer.Option(
    help="full: hash all bytes of the knowledge base and of what is derived from it again, and of the models' files. "
    "once: only if this machine has not done so, or if a file was touched since."
)
PRECISION = typer.Option(
    help="With a calibrated pipeline: answers that are right this often, as 0.95; others are left unlinked, with candidates."
)
COVERAGE = typer.Option(
    help="With a calibrated pipeline: as few candidates for each mention as hold the right one this often, as 0.90."
)
ASSERTION = typer.Option(
    "--assertion",
    help="Mark links whose mention is negated, possible, historical, hypothetical or of a family member. Drops none.",
)
TOP_K = typer.Option(min=1, max=1000, help="How many candidates a mention gets.")


def allowed(kb: KnowledgeBase, types: str, concepts: Path | None) -> ConceptMask | None:
    """Return the concepts that may be answers; None is all of them."""
    from onym.kb.masks import select_concepts

    return select_concepts(kb, listed(types), list(ids_in(concepts)) if concepts else ())


def require_either(kb: Path | None, pipeline: Path | None, *, has_own: bool) -> None:
    """Refuse both and neither, and options of a linker (`has_own`) beside a pipeline."""
    from onym.errors import ConfigError

    if (kb is None) == (pipeline is None):
        fix = "give --pipeline, or --kb and perhaps --linker; raw text needs a pipeline, which finds the mentions"
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
def open_sources(paths: Sequence[Path], *, follow_links: bool = False) -> Iterator[list[Source]]:
    """Give what paths lead to, opened; `-` is standard input. Files of several sources have their path before their names."""
    from onym.store.files.source import Source
    from onym.store.files.standard_input import spooled

    with ExitStack() as stack:
        found = [
            stack.enter_context(spooled(_standard_input()))
            if str(path) == "-"
            else Source.open(path, follow_links=follow_links)
            for path in paths
        ]
        yield found if len(paths) == 1 else [source.under(str(path)) for path, source in zip(paths, found, strict=True)]


def _standard_input() -> BinaryIO:
    from onym.errors import InputError

    if sys.stdin is None:
        raise InputError("input-missing", "standard input is closed", fix="name a file, or pipe one into the command")
    return sys.stdin.buffer
