"""`onym audit`: precision and recall on your own documents, with intervals, from few labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, progress_callback, tell, write_json, write_lines
from onym.cli.inputs import FAILED, resolve_kb
from onym.cli.options import VERIFY
from onym.cli.review import (
    DESK,
    LINKED_DOCUMENTS,
    LINKS,
    LINKS_KB,
    NEW_DESK,
    TERM_COLUMN,
    TITLE,
    leave_if_missing,
    read_links,
)
from onym.store.cache import Verify

app = typer.Typer(help="Estimate precision and recall on your own documents from few labels.", no_args_is_help=True)


@app.command()
def plan(
    links: LINKS,
    output: NEW_DESK,
    kb: LINKS_KB,
    documents: LINKED_DOCUMENTS = None,
    column: TERM_COLUMN = "",
    margin: Annotated[
        float, typer.Option(help="Half width of the 95 % interval of precision: 0.03 is 3 percentage points to each side.")
    ] = 0.03,
    recall_margin: Annotated[
        float, typer.Option(help="The same for recall; it says how many documents are read as a whole.")
    ] = 0.05,
    no_recall: Annotated[
        bool, typer.Option("--no-recall", help="Estimate precision alone. Always so for a table of onym map.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw.")] = 0,
    title: TITLE = "",
    verify: Annotated[Verify, VERIFY] = "once",
    json: Annotated[bool, JSON] = False,
) -> None:
    """Draw the links to label and the documents to read, and make a desk that queues them.

    Exit status 5 if documents are missing.

    Example: onym audit plan predictions.jsonl --documents notes --kb mesh-pipeline --margin 0.03 -o audit.sqlite
    """
    from onym.kb import KnowledgeBase
    from onym.review.audit import AuditOptions, create_audit, plan_audit
    from onym.review.create import DeskOptions
    from onym.store.output import require_file

    require_file(output)
    with progress("reading links") as bar:
        known = KnowledgeBase.open(kb, verify=verify)
        missing: list[str] = []
        source, found = read_links(links, documents or [], column, known, missing)
        read = list(found)
        wanted = AuditOptions(margin, None if no_recall or column else recall_margin, seed)
        made = plan_audit(read, wanted)
        options, callback = DeskOptions(title=title, are_terms=bool(column)), progress_callback(bar)
        counts = create_audit(output, read, known, source, plan=made, options=options, missing=missing, progress=callback)
    rows = {
        "links": sum(each.links for each in made.strata),
        "documents": made.total_documents,
        "labels": len(made.links),
        "labels_at_random": made.labels_at_random,
        "documents_to_read": len(made.documents),
        "queued": counts.queued,
        "missing": counts.missing,
    }
    if json:
        write_json({**rows, "output": str(output), "strata": [each.model_dump() for each in made.strata]})
    else:
        write_lines([(what.replace("_", " "), f"{number:,}") for what, number in rows.items()])
    leave_if_missing(counts)


@app.command()
def report(
    desk: DESK,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write an HTML page.")] = None,
    kb: Annotated[
        Path | None,
        typer.Option("--kb", callback=resolve_kb, help="Knowledge base, or the pipeline that has it: recall by type."),
    ] = None,
    reviewer: Annotated[str, typer.Option(help="Count the decisions of this reviewer alone.")] = "",
    empty_read: Annotated[
        bool,
        typer.Option("--empty-read", help="Count drawn documents without links as read; report their missed mentions first."),
    ] = False,
    verify: Annotated[Verify, VERIFY] = "once",
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing page.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Print precision and recall with 95 % intervals, overall and by type. Exit status 5 if something is not decided yet.

    Example: onym audit report audit.sqlite -o audit.html
    """
    from onym.kb import KnowledgeBase
    from onym.review.desk import open_desk
    from onym.review.report import open_problems, report_audit, report_page, report_rows
    from onym.store.output import require_file, whole_file

    if output:
        require_file(output, force=force)
    known = KnowledgeBase.open(kb, verify=verify) if kb else None
    with open_desk(desk) as store:
        found = report_audit(store, known, reviewer=reviewer, empty_read=empty_read)
        title = store.facts.title or "Audit"
    if output:
        with whole_file(output, force=force) as file:
            file.write(report_page(found, title).encode())
    write_json(found.as_dict()) if json else write_lines(report_rows(found))
    problems = open_problems(found)
    for problem in problems:
        tell(problem)
    if problems:
        raise typer.Exit(FAILED)
