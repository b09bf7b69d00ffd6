"""What the commands that link share: the choice of a linker, and of the concepts that may be answers."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from onym.kb import KnowledgeBase
    from onym.linkers.base import ConceptMask
    from onym.store.files.source import Source

LINKER = typer.Option(
    help="exact; tfidf, for likeness of character 3-grams; dense, generative or collective with --model; "
    "cascade with --encoder or --model."
)
KB = typer.Option("--kb", help="The knowledge base.")
TYPES = typer.Option(help="Only concepts of these semantic types, separated by commas.")
CONCEPTS = typer.Option(help="Only the concepts whose ids stand in this file, one a line.")
TOP_K = typer.Option(min=1, max=1000, help="How many candidates to give.")


def takes_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a linker with a model, where its parameter `options` stands: it takes them together."""
    hints = get_type_hints(command, localns={"LinkerOptions": object}, include_extras=True)  # too heavy to import for --help
    own = [each.replace(annotation=hints[each.name]) for each in inspect.signature(command).parameters.values()]
    shared = inspect.signature(_options, eval_str=True).parameters
    place = next(place for place, each in enumerate(own) if each.name == "options")
    parameters = [*own[:place], *shared.values(), *own[place + 1 :]]

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        options = _options(**{name: given.pop(name) for name in shared})
        command(**given, options=options)

    named = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    with_options.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    with_options.__annotations__ = {each.name: each.annotation for each in named}
    return with_options


def _options(
    model: Annotated[
        str,
        typer.Option(
            help="For dense, generative and collective: the folder of the model, or its name on the hub with --download."
        ),
    ] = "",
    tokenizer: Annotated[str, typer.Option(help="For generative: a folder with the tokenizer, where the model has none.")] = "",
    template: Annotated[str, typer.Option(help="For generative: genbioel, or genre for no prompt; else the model's own.")] = "",
    search: Annotated[str, typer.Option(help="For generative: beam, or exact for the proved best; else the model's own.")] = "",
    ranking: Annotated[
        str, typer.Option(help="For generative: mean or sum of a name's log-probabilities; else the model's own.")
    ] = "",
    width: Annotated[
        int, typer.Option(min=1, max=100, help="For generative: the width of the beam, and the most names of a mention.")
    ] = 5,
    window: Annotated[
        int | None,
        typer.Option(min=8, help="For generative: how many tokens of a mention in its context are read; else the model's own."),
    ] = None,
    download: Annotated[
        bool, typer.Option("--download", help="For dense and generative: fetch a model that is named from the hub.")
    ] = False,
    index: Annotated[str, typer.Option(help="For dense and collective: auto, flat, flat16, sq8, hnsw or ivfpq.")] = "auto",
    encoder: Annotated[
        str, typer.Option(help="For cascade: the folder of its dense part's model; --model is its generative part's.")
    ] = "",
) -> Any:
    """Return what a linker with a model is told, checked."""
    from onym.errors import ConfigError
    from onym.linkers.named import LinkerOptions

    for value, known in ((search, ("beam", "exact")), (ranking, ("mean", "sum"))):
        if value and value not in known:
            raise ConfigError("config-invalid", f"{value!r} is not one of {', '.join(known)}", fix=f"name {' or '.join(known)}")
    return LinkerOptions(model, tokenizer, template, search, ranking, width, window or 0, download, index, encoder)  # type: ignore[arg-type]


def allowed(kb: KnowledgeBase, types: str, concepts: Path | None) -> ConceptMask | None:
    """Return the concepts that may be answers; None is all of them."""
    from onym.kb.masks import select_concepts

    return select_concepts(kb, listed(types), list(ids_in(concepts)) if concepts else ())


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
def iter_sources(paths: Iterable[Path]) -> Iterator[Iterator[Source]]:
    """Give what paths lead to, opened one after the other; `-` is standard input."""
    from onym.store.files.source import Source
    from onym.store.files.standard_input import spooled

    with ExitStack() as stack:
        yield (stack.enter_context(spooled(sys.stdin.buffer)) if str(path) == "-" else Source.open(path) for path in paths)
