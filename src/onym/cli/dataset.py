"""`onym dataset`: prepare published corpora or your own for training and evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onym.cli.console import JSON, progress, write_json, write_lines
from onym.cli.inputs import resolve_kb
from onym.errors import ConfigError

if TYPE_CHECKING:
    from onym.datasets import PreparedDataset
    from onym.kb import KnowledgeBase

app = typer.Typer(help="Prepare published corpora for linking, and report train/test overlap.", no_args_is_help=True)


@app.command("list")
def list_(json: Annotated[bool, JSON] = False) -> None:
    """List the datasets that can be prepared: name, splits, title, intended knowledge base.

    Example: onym dataset list
    """
    from onym.datasets import catalogue

    if json:
        write_json(
            [
                {
                    "name": dataset.name,
                    "title": dataset.title,
                    "splits": dataset.splits,
                    "files": [file.path for file in dataset.files],
                    "kb": dataset.kb,
                    "protocol": dataset.protocol,
                    "dropped": dataset.dropped,
                    "licence": dataset.licence,
                }
                for dataset in catalogue()
            ]
        )
        return
    write_lines([(dataset.name, " ".join(dataset.splits), dataset.title, dataset.kb) for dataset in catalogue()])


@app.command()
def prepare(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME|FILES",
            help="Name of a dataset (see onym dataset list), or, with --name, the files of your own corpus.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder of the prepared dataset. Defaults to --name.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(envvar="ONYM_DATA", show_envvar=False, help="Folder of the downloaded corpora; by default $ONYM_DATA."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Prepare your own corpus, under this name.")] = None,
    split: Annotated[
        list[str] | None,
        typer.Option(
            help="File of your corpus for train, dev or test, such as train=a.pubtator. May be repeated.", metavar="SPLIT=FILE"
        ),
    ] = None,
    shares: Annotated[
        str | None,
        typer.Option(help="Fractions of your documents for train, dev and test; by default 0.7,0.15,0.15."),
    ] = None,
    folds: Annotated[int | None, typer.Option(help="Prepare this many cross-validation folds of your corpus.")] = None,
    format: Annotated[  # noqa: A002 - the name of the option
        str, typer.Option(help="Format of your files; detected by default.")
    ] = "",
    kb: Annotated[
        Path | None,
        typer.Option(
            callback=resolve_kb, help="Check gold ids against this knowledge base instead of the dataset's own dictionary."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing dataset.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Prepare a published dataset or your own corpus; report size, dropped mentions, gold ids in the KB, train/test overlap.

    Example: onym dataset prepare bc5cdr -o cdr --data corpora --kb open-kb
    Example: onym dataset prepare notes.bioc.xml --name mine --kb open-kb
    Example: onym dataset prepare --name mine --split train=a.pubtator --split test=b.pubtator --kb open-kb
    """
    from onym.kb import KnowledgeBase

    base = KnowledgeBase.open(kb) if kb else None
    if name is None:
        if split or shares or folds or format:
            raise ConfigError(
                "config-invalid",
                "--split, --shares, --folds and --format apply only to your own corpus",
                fix="give --name NAME for your own corpus, or drop these options",
            )
        found = [_prepare_published(what or [], output, data, base, force=force)]
    else:
        if (split is not None) + (shares is not None) + (folds is not None) > 1 or (split and what):
            problem = "--split cannot be combined with files, --shares or --folds, nor --shares with --folds"
            raise ConfigError(
                "config-invalid", problem, fix="give --split for every file, or give files with --shares or --folds"
            )
        dest, files = output or Path(name), [Path(word) for word in what or []]
        found = _own(name, _by_split(split) if split else files, dest, (shares, folds, format), base, force=force)
    if json:
        answers = [_as_json(dataset) for dataset in found]
        write_json(answers if folds else answers[0])
        return
    for dataset in found:
        _show(dataset)


def _prepare_published(
    words: Sequence[str], output: Path | None, data: Path | None, kb: KnowledgeBase | None, *, force: bool
) -> PreparedDataset:
    from onym.datasets import prepare
    from onym.datasets.prepared import require_free

    if len(words) != 1 or output is None:
        what = "give the name of one dataset, and its output folder with -o"
        raise ConfigError(
            "config-invalid", what, fix="such as onym dataset prepare bc5cdr -o cdr; for your own files add --name"
        )
    require_free(output, force=force)
    if data is None:
        raise ConfigError("config-invalid", "the folder of the corpora is not set", fix="give --data FOLDER, or set ONYM_DATA")
    with progress("preparing"):
        return prepare(words[0], data, output, kb=kb, force=force)


def _own(
    name: str,
    files: dict[str, list[Path]] | list[Path],
    dest: Path,
    division: tuple[str | None, int | None, str],
    kb: KnowledgeBase | None,
    *,
    force: bool,
) -> list[PreparedDataset]:
    from onym.datasets.own import SHARES, prepare_folds, prepare_own

    shares, folds, form = division
    with progress("preparing"):
        if folds is not None and isinstance(files, list):
            return prepare_folds(name, files, dest, folds, format=form, kb=kb, force=force)
        own = _numbers(shares) if shares else SHARES
        return [prepare_own(name, files, dest, shares=own, format=form, kb=kb, force=force)]


def _by_split(values: Sequence[str]) -> dict[str, list[Path]]:
    from onym.datasets.base import SPLITS

    found: dict[str, list[Path]] = {}
    for value in values:
        split, _, path = value.partition("=")
        if split not in SPLITS or not path:
            what = f"--split {value!r} is not SPLIT=FILE"
            raise ConfigError(
                "config-invalid", what, fix=f"SPLIT is one of {', '.join(SPLITS)}, such as --split train=a.pubtator"
            )
        found.setdefault(split, []).append(Path(path))
    return found


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as e:
        raise ConfigError(
            "config-invalid", f"--shares {text!r} is not a list of numbers", fix="write it as in --shares 0.7,0.15,0.15"
        ) from e


def _as_json(dataset: PreparedDataset) -> dict[str, object]:
    inputs = [entry.model_dump() for entry in dataset.manifest.inputs]
    return {"folder": str(dataset.folder), "digest": dataset.digest, "inputs": inputs, **dataset.report}


def _show(dataset: PreparedDataset) -> None:
    from onym.datasets.report import rows_of

    inputs = [("input", entry.name, f"sha256 {entry.sha256}") for entry in dataset.manifest.inputs[:20]]
    write_lines([("digest", dataset.digest), *inputs, *rows_of(dataset.report)])
