"""`onym explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, write_json, write_plain
from onym.cli.corpus._items import FAILED, any_failed, report_files, tell
from onym.cli.linking import PRECISION, VERIFY
from onym.store.verify import Verify


def command(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="TEXT|FILE...", help="A text in quotes; or corpora: files, folders, archives, - for stdin."),
    ],
    pipeline: Annotated[Path, typer.Option(help="Pipeline. By default the starter, which comes with Onym.")] = Path("starter"),
    precision: Annotated[float | None, PRECISION] = None,
    verify: Annotated[Verify, VERIFY] = "once",
    json: Annotated[bool, JSON] = False,
) -> None:
    """Explain links: the name that matched, reasons for the concept, features, runner-up, or why a mention is not linked.

    Exit status 5 if files, documents or mentions could not be read.

    Example: onym explain "Patients with breast cancer (BC) and type 2 diabetes"
    """
    from onym.cli.linking import open_sources
    from onym.corpora.corpus import read_sources
    from onym.pipeline.folder import load
    from onym.store.parts import OpenContext
    from onym.types import Problem

    is_complete = True
    with open_sources(sources, texts=True) as found:
        loaded = load(pipeline, context=OpenContext(verify=verify)).with_precision(precision)
        reading = read_sources(found, "")
        for item in reading:
            if isinstance(item, Problem):
                is_complete = False
                tell(f"[{item.code}] {item.what}, {item.where or item.document_id}")
                continue
            for explanation in loaded.explain(item):
                mention = explanation.link.mention
                if json:
                    write_json({"document": item.id, **explanation.as_dict()})
                else:
                    write_plain(f"{item.id}:{mention.start}-{mention.end}  {mention.surface}")
                    write_plain("\n".join(f"  {line}" for line in explanation.lines()))
    report_files(reading.files)
    if not is_complete or any_failed(reading.files):
        raise typer.Exit(FAILED)
