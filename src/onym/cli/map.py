"""`onym map`: map a column of terms to concepts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.answering import Answering, AnswerOptions
from onym.cli.answers import Shown
from onym.cli.console import JSON, progress, progress_callback, write_json, write_lines
from onym.cli.help import EXPORT
from onym.cli.options import ALL, CODE_SYSTEM, FORCE, ID_STYLE, LINKER_OPTIONS, OMOP_VOCABULARY, command_with
from onym.types import IdStyle
from onym.vocabularies import FhirVersion

app = typer.Typer()
_ANSWERS = AnswerOptions(without=("restrict",))  # concepts that a filter does not allow are always ignored


@app.command("map", cls=command_with(answers=_ANSWERS, linker=LINKER_OPTIONS))
def map_(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="Table with a header row: .csv, .tsv, .xlsx or .parquet.")],
    column: Annotated[str, typer.Option(help="Column with the terms.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Output table (.tsv, .csv, .xlsx, .jsonl, .parquet), - for stdout; without it the table is printed. "
            "SSSOM if it ends in .sssom.tsv, a FHIR ConceptMap if it ends in .fhir.json, and the OMOP table if it is "
            "named source_to_concept_map.csv.",
        ),
    ] = None,
    id_style: Annotated[IdStyle, ID_STYLE] = "obo",
    code_column: Annotated[
        str,
        typer.Option(
            rich_help_panel=EXPORT, help="FHIR and OMOP: column with the codes; by default, each term is its own code."
        ),
    ] = "",
    source_system: Annotated[
        str,
        typer.Option(
            rich_help_panel=EXPORT,
            help="FHIR and OMOP: vocabulary of the source codes, as a URI (FHIR) or a vocabulary_id (OMOP).",
        ),
    ] = "",
    code_system: Annotated[list[str] | None, CODE_SYSTEM] = None,
    fhir_version: Annotated[
        FhirVersion | None, typer.Option(rich_help_panel=EXPORT, help="FHIR: FHIR release of the ConceptMap; by default R4B.")
    ] = None,
    omop_vocabulary: Annotated[Path | None, OMOP_VOCABULARY] = None,
    force: Annotated[bool, FORCE] = False,
    is_all: Annotated[bool, ALL] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Map a column of terms to concepts, and add the best candidates to each row.

    Example: onym map diagnoses.csv --column diagnosis
    Example: onym map diagnoses.xlsx --column diagnosis --kb mesh -o mapped.xlsx
    """
    from onym.outputs.base import ExportOptions, check_terms
    from onym.outputs.mapping import (
        count_mappings,
        count_rows,
        map_terms,
        new_counts,
        read_terms,
        require_mapping,
        write_mappings,
    )
    from onym.store.output import STDOUT

    answers: Answering = context.obj["answers"]
    answers.require_consistent(context.obj["linker"])
    options = ExportOptions.of(
        code_system or (),
        omop_vocabulary=omop_vocabulary,
        code_column=code_column,
        source_system=source_system,
        fhir_version=fhir_version,
    )
    shown = Shown.of(is_shown=output is None, json=json, is_all=is_all)
    output = output or STDOUT
    check_terms(output, options)
    rows = count_rows(file, column) if shown else require_mapping(file, column, output, force=force, options=options)
    table = read_terms(file, column)
    top_k = answers.options.top_k if "top_k" in answers.options.model_fields_set else None
    with progress("mapping", total=rows) as bar:
        pipeline = answers.open(bar, context.obj["linker"], default_linker="tfidf", restrict=True)
        progress_callback(bar)("mapping", 0)
        if shown:
            counts = new_counts()
            mappings = count_mappings(map_terms(table, pipeline, top_k=top_k), counts, progress_callback(bar))
            shown.mappings(mappings, table.columns, pipeline.kb, id_style)
        else:
            counts = write_mappings(
                table,
                pipeline,
                output,
                top_k=top_k,
                style=id_style,
                force=force,
                options=options,
                progress=progress_callback(bar),
            )
    if json:
        write_json({**counts, "output": str(output)}, to_stderr=output == STDOUT)
    elif shown:
        shown.print()
    else:
        write_lines([(what, f"{number:,}") for what, number in counts.items()], to_stderr=output == STDOUT)
