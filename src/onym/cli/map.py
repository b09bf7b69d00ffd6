"""`onym map`: map a column of terms to concepts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onym.cli.answers import Shown
from onym.cli.console import JSON, progress, progress_callback, write_json, write_lines
from onym.cli.help import EXPORT
from onym.cli.inputs import correct, filter_of, require_choice, require_pipeline, resolve_kb, use_default
from onym.cli.options import (
    ALL,
    CODE_SYSTEM,
    CONCEPTS,
    CORRECTIONS,
    COVERAGE,
    DOWNLOAD,
    FILTER_OPTIONS,
    FORCE,
    ID_STYLE,
    LINKER,
    LINKER_OPTIONS,
    OMOP_VOCABULARY,
    PIPELINE,
    PRECISION,
    PREFER,
    SOME_PIPELINE_OPTIONS,
    VERIFY,
    command_with,
    split_commas,
)
from onym.store.cache import Verify
from onym.types import IdStyle
from onym.vocabularies import FhirVersion

if TYPE_CHECKING:
    from onym.linkers.base import Linker
    from onym.pipeline.pipeline import Pipeline


app = typer.Typer()


@app.command("map", cls=command_with(config=SOME_PIPELINE_OPTIONS, filter=FILTER_OPTIONS, linker=LINKER_OPTIONS))
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
    kb: Annotated[
        Path | None, typer.Option("--kb", callback=resolve_kb, help="Knowledge base to use instead of a pipeline.")
    ] = None,
    pipeline: Annotated[Path | None, PIPELINE] = None,
    linker: Annotated[str, LINKER] = "",
    concepts: Annotated[Path | None, CONCEPTS] = None,
    prefer: Annotated[str, PREFER] = "",
    top_k: Annotated[
        int | None,
        typer.Option(min=1, max=1000, help="Maximum number of candidates per term. SSSOM: by default the answer alone."),
    ] = None,
    precision: Annotated[float | None, PRECISION] = None,
    coverage: Annotated[float | None, COVERAGE] = None,
    corrections: Annotated[Path | None, CORRECTIONS] = None,
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
    download: Annotated[bool, DOWNLOAD] = False,
    verify: Annotated[Verify, VERIFY] = "once",
    force: Annotated[bool, FORCE] = False,
    is_all: Annotated[bool, ALL] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Map a column of terms to concepts, and add the best candidates to each row.

    Example: onym map diagnoses.csv --column diagnosis
    Example: onym map diagnoses.xlsx --column diagnosis --kb mesh -o mapped.xlsx
    """
    from onym.kb import KnowledgeBase
    from onym.kb.ranking import ConceptFilter, select_concepts
    from onym.linkers import linker_config, open_linker
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
    from onym.packs.locate import load
    from onym.parts import OpenContext
    from onym.store.output import STDOUT

    of_linker, wanted = context.obj["linker"], filter_of(context, concepts)
    require_choice(kb, pipeline, has_own=bool(linker or of_linker))
    require_pipeline(kb, precision, coverage, corrections)
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
    with progress("mapping", total=rows) as bar:
        opening, only = OpenContext(download, progress_callback(bar), verify), None
        if kb is not None:
            known = KnowledgeBase.open(kb, verify=verify, prefer=split_commas(prefer))
            only = select_concepts(known, wanted)
            named: Linker | Pipeline = open_linker(linker_config(linker or "tfidf", **of_linker), known, opening)
        else:
            named = load(pipeline or use_default(), context=opening, prefer=split_commas(prefer))
            named = named.with_precision(precision).with_coverage(coverage)
            named = named.with_filter(restrict=True, **wanted.model_dump()) if wanted != ConceptFilter() else named
            named = correct(named, corrections)
        progress_callback(bar)("mapping", 0)
        if shown:
            counts = new_counts()
            mappings = count_mappings(map_terms(table, named, top_k=top_k, only=only), counts, progress_callback(bar))
            shown.mappings(mappings, table.columns, named.kb, id_style)
        else:
            counts = write_mappings(
                table,
                named,
                output,
                top_k=top_k,
                only=only,
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
