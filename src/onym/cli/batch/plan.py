"""`onym batch plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, write_json, write_lines
from onym.cli.corpus._items import tell
from onym.cli.linking import ASSERTION, COVERAGE, PRECISION


def command(
    sources: Annotated[list[str], typer.Argument(metavar="SOURCE...", help="Corpora: files, folders or archives.")],
    output: Annotated[str, typer.Option("--output", "-o", help="New folder of the run, or s3://bucket/prefix.")],
    pipeline: Annotated[Path | None, typer.Option(help="Pipeline; by default the starter, which comes with Onym.")] = None,
    from_: Annotated[str, typer.Option("--from", help="Format of the input; by default it is recognised.")] = "",
    precision: Annotated[float | None, PRECISION] = None,
    coverage: Annotated[float | None, COVERAGE] = None,
    assertion: Annotated[bool, ASSERTION] = False,
    no_text: Annotated[bool, typer.Option("--no-text", help="Omit the text of mentions from the output.")] = False,
    private: Annotated[bool, typer.Option("--private", help="Let the owner alone read the output (0600).")] = False,
    shard_mb: Annotated[
        int, typer.Option("--shard-mb", min=1, help="Combine small files, and split large JSONL files, at this size.")
    ] = 32,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Plan a run: find the inputs, compute their checksums and divide them into shards.

    Example: onym batch plan pubmed/ --pipeline mesh-pipeline -o linked
    """
    from onym.batch.planning import plan_batch
    from onym.packs.locate import STARTER
    from onym.store.limits import MIB

    if pipeline is None:
        tell("no --pipeline is named: this is the starter, diseases of MONDO")
    with progress("planning"):
        plan = plan_batch(
            sources,
            pipeline or Path(STARTER),
            output,
            format=from_,
            precision=precision,
            coverage=coverage,
            assertion=assertion,
            text=not no_text,
            private=private,
            shard_bytes=shard_mb * MIB,
        )
    files = sum(len(group.files) for shard in plan.shards for group in shard.groups)
    size = sum(shard.bytes for shard in plan.shards)
    if json:
        write_json({"shards": len(plan.shards), "files": files, "bytes": size, "aside": [file.name for file in plan.aside]})
    else:
        write_lines([("shards", f"{len(plan.shards):,}"), ("files", f"{files:,}"), ("megabytes", f"{size / 1e6:,.1f}")])
    for file in plan.aside:
        tell(f"{file.name}: {file.code or 'ignored'}: {file.why}")
    if plan.failed:
        raise typer.Exit(5)
