"""`onym batch export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.batch._shown import OUT
from onym.cli.console import progress, write_lines
from onym.cli.options import CODE_SYSTEM, NLP_DATE, NOTE_KEYS, OMOP_VOCABULARY


def command(
    out: OUT,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="File to write: .parquet, .csv, .tsv, .jsonl, .xlsx; .fhir.ndjson; note_nlp.csv."),
    ],
    format: Annotated[  # noqa: A002
        str,
        typer.Option(
            help="Write documents in a corpus format instead, such as pubtator, fhir or omop; reads the inputs again."
        ),
    ] = "",
    code_system: Annotated[list[str] | None, CODE_SYSTEM] = None,
    omop_vocabulary: Annotated[Path | None, OMOP_VOCABULARY] = None,
    nlp_date: Annotated[str, NLP_DATE] = "",
    note_keys: Annotated[Path | None, NOTE_KEYS] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing output.")] = False,
) -> None:
    """Write the links of a finished run to one file.

    Example: onym batch export linked -o links.parquet
    """
    from onym.batch.exporting import export
    from onym.outputs.base import TABLE, ExportOptions, named_format

    options = ExportOptions.of(code_system or (), nlp_date, omop_vocabulary=omop_vocabulary, note_keys=note_keys)
    with progress("exporting"):
        count = export(out, output, format, options=options, force=force)
    is_table = (format or named_format(output) or TABLE) == TABLE
    write_lines([("mentions" if is_table else "documents", f"{count:,}"), ("output", str(output))])
