"""`onym index`: build and inspect the index of the name embeddings of a knowledge base."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, progress_callback, write_json, write_lines
from onym.cli.inputs import resolve_kb
from onym.cli.options import DEVICE

app = typer.Typer(help="Build and inspect the index of name embeddings for the dense linker.", no_args_is_help=True)


@app.command()
def build(
    kb: Annotated[Path, typer.Argument(callback=resolve_kb, help="Knowledge base.")],
    model: Annotated[Path, typer.Option(help="Folder of an encoder.")],
    kind: Annotated[
        str, typer.Option(help="flat, flat16, sq8, hnsw, ivfpq or pq; auto chooses by the number of names.")
    ] = "auto",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder of the index; by default it is stored with the KB.")
    ] = None,
    device: Annotated[str, DEVICE] = "auto",
    json: Annotated[bool, JSON] = False,
) -> None:
    """Embed all names of a knowledge base and build the index. Linkers use the index stored with the knowledge base.

    Example: onym index build hpo-kb --model minilm --kind sq8
    """
    from onym.store.output import require_artefact

    if output:
        require_artefact(output)
    from onym.kb import KnowledgeBase
    from onym.methods.dense.index.artefact import open_index_artefact
    from onym.methods.dense.index.build import build_index, open_derived_index_artefact
    from onym.methods.dense.index.kinds import kind_for
    from onym.models.opening import open_encoder
    from onym.store.models import folder_of

    known = KnowledgeBase.open(kb)
    index_kind = kind_for(kind, len(known.names)).name
    encoder = open_encoder(folder_of(model, download=False), device=device)
    with progress("encoding names", total=len(known.names)) as bar:
        if output:
            build_index(known, encoder, output, index_kind, progress=progress_callback(bar))
            _, origin, artefact = open_index_artefact(output)
        else:
            _, origin, artefact = open_derived_index_artefact(known, encoder, index_kind, progress=progress_callback(bar))
    rows = {"folder": str(artefact.location), "digest": artefact.digest, "kind": origin.kind, "precision": origin.precision}
    counts = artefact.manifest.counts
    if json:
        write_json({**rows, "counts": counts})
    else:
        write_lines([*rows.items(), *((name, f"{count:,}") for name, count in counts.items())])


@app.command()
def info(
    folders: Annotated[
        list[Path], typer.Argument(help="Folders of indexes, or knowledge bases, whose stored indexes are listed.")
    ],
    json: Annotated[bool, JSON] = False,
) -> None:
    """Show the kind and size of an index, and which knowledge base and encoder it was built from.

    Example: onym index info hpo-kb
    """
    from onym.methods.dense.index.build import info
    from onym.packs.locate import locate_kb

    found = [described for folder in folders for described in info(locate_kb(folder))]
    if json:
        write_json(found)
    else:
        rows = [(name.replace("_", " "), value) for described in found for name, value in described.items()]
        write_lines([(name, value if isinstance(value, str) else f"{value:,}") for name, value in rows])
