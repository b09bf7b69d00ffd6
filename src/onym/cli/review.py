"""`onym review`: people decide whether links are right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onym.cli.console import JSON, progress, progress_callback, tell, write_json, write_lines
from onym.cli.inputs import FAILED, filter_of, ids_in, open_sources, resolve_kb
from onym.cli.options import CONCEPTS, FILTER_OPTIONS, FORCE, VERIFY, ConfigOptions, command_with
from onym.store.cache import Verify

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from onym.kb import KnowledgeBase
    from onym.review.create import DeskCounts, ReviewedDocument
    from onym.serve.review import ReviewSettings

app = typer.Typer(help="Review links: make a desk, decide, export corrections and training data.", no_args_is_help=True)
DESK = Annotated[Path, typer.Argument(metavar="DESK", help="Review desk (.sqlite).")]
LINKS = Annotated[
    str,
    typer.Argument(
        metavar="LINKS",
        help="Predictions (.jsonl) or a table of onym link, the folder of a batch run, or a table or SSSOM file of onym map.",
    ),
]
NEW_DESK = Annotated[Path, typer.Option("--output", "-o", help="New desk (.sqlite), on a local disk.")]
LINKS_KB = Annotated[
    Path, typer.Option("--kb", callback=resolve_kb, help="Knowledge base of the links, or the pipeline that has it.")
]
LINKED_DOCUMENTS = Annotated[
    list[str] | None,
    typer.Option(help="Documents that were linked: file, folder or archive. May be repeated. A batch run finds its own."),
]
TERM_COLUMN = Annotated[str, typer.Option(help="For a table of onym map: column with the terms.")]
TITLE = Annotated[str, typer.Option(help="Title of the desk's page.")]
_SHOWN = 10  # maximum number of missing documents listed


@app.command(cls=command_with(filter=FILTER_OPTIONS))
def create(
    context: typer.Context,
    links: LINKS,
    output: NEW_DESK,
    kb: LINKS_KB,
    documents: LINKED_DOCUMENTS = None,
    column: TERM_COLUMN = "",
    characters: Annotated[
        int | None,
        typer.Option("--context", min=0, help="Store only this many characters around each mention, not whole documents."),
    ] = None,
    no_text: Annotated[
        bool, typer.Option("--no-text", help="Store no text of documents, only the surfaces of mentions.")
    ] = False,
    concepts: Annotated[Path | None, CONCEPTS] = None,
    at_least: Annotated[
        float | None, typer.Option(min=0, max=1, help="Queue only links with at least this confidence.")
    ] = None,
    below: Annotated[float | None, typer.Option(min=0, max=1, help="Queue only links with less than this confidence.")] = None,
    only_documents: Annotated[
        Path | None, typer.Option(help="Queue only links in the documents listed in this file, one id per line.")
    ] = None,
    title: TITLE = "",
    verify: Annotated[Verify, VERIFY] = "once",
    json: Annotated[bool, JSON] = False,
) -> None:
    """Make a desk from links. Exit status 5 if documents are missing.

    With --types, --concepts, --under, --at-least, --below or --only-documents, only some links are queued for review; the
    others are shown in their documents, but nobody is asked about them.

    Example: onym review create predictions.jsonl --documents notes --kb mesh-pipeline -o desk.sqlite
    Example: onym review create mapped.csv --column diagnosis --kb mesh-pipeline -o desk.sqlite
    Example: onym review create mapped.sssom.tsv --kb starter -o desk.sqlite
    """
    from onym.kb import KnowledgeBase
    from onym.outputs.sssom import is_sssom
    from onym.review.create import DeskOptions, QueueFilter, create_desk
    from onym.store.output import require_file

    require_file(output)
    with progress("reading links") as bar:
        known = KnowledgeBase.open(kb, verify=verify)
        wanted = frozenset(ids_in(only_documents)) if only_documents else frozenset()
        queue = QueueFilter.of(known, filter_of(context, concepts), at_least=at_least, below=below, documents=wanted)
        missing: list[str] = []
        source, found = read_links(links, documents or [], column, known, missing)
        options = DeskOptions(characters, not no_text, title, bool(column) or is_sssom(links), queue)
        counts = create_desk(output, found, known, source, options, missing=missing, progress=progress_callback(bar))
    if source.get("kb", {}).get("digest", known.digest) != known.digest:
        tell("The links were made with another knowledge base; ids that this one does not have are shown without names.")
    rows = {name: getattr(counts, name) for name in ("documents", "links", "queued", "clusters", "missing")}
    if json:
        write_json({**rows, "output": str(output)})
    else:
        write_lines([(what, f"{number:,}") for what, number in rows.items()])
    leave_if_missing(counts)


def leave_if_missing(counts: DeskCounts) -> None:
    """Exit with status 5 if documents of a new desk have no text."""
    if counts.missing:
        tell(f"The text of {counts.missing:,} documents is missing; onym review show lists them.")
        raise typer.Exit(FAILED)


def read_links(
    links: str, documents: list[str], column: str, kb: KnowledgeBase, missing: list[str]
) -> tuple[Mapping[str, Any], Iterable[ReviewedDocument]]:
    """Return the header of the links and their documents; ids of documents that are not found are appended to `missing`."""
    from onym.corpora.base import documents_of
    from onym.errors import ConfigError
    from onym.outputs.predictions import are_predictions, read_predictions
    from onym.outputs.sssom import is_sssom
    from onym.review.create import ReviewedDocument, join_predictions, read_links_table, read_mapped_table, read_mappings

    path = Path(links)
    if path.is_dir() or "://" in links:
        from onym.batch.exporting import iter_linked

        source, linked = iter_linked(links)
        return source, map(ReviewedDocument.of, linked)
    if is_sssom(path):
        return {}, read_mappings(path, kb)
    if column:
        return {}, read_mapped_table(path, column, kb)
    reading = documents_of(_iter_documents(documents)) if documents else None
    if not are_predictions(path):
        return {}, read_links_table(path, kb, reading)
    if reading is None:
        what = "predictions have no text, so the documents are needed"
        raise ConfigError("config-invalid", what, fix="give the documents that were linked: --documents PATH")
    predictions = read_predictions(path)
    return predictions.source, join_predictions(predictions, reading, kb, missing)


def _iter_documents(documents: list[str]) -> Iterable[Any]:
    with open_sources(documents) as found:
        yield from found.read()


@app.command()
def show(desk: DESK, json: Annotated[bool, JSON] = False) -> None:
    """Print what a desk has: links, decisions by verdict, reviewers, and documents without text.

    Example: onym review show desk.sqlite
    """
    from onym.review.desk import open_desk
    from onym.review.summary import summarise

    with open_desk(desk) as opened:
        found = summarise(opened)
    if json:
        write_json(found)
        return
    write_lines([(what.replace("_", " "), f"{value:,}") for what, value in found.items() if isinstance(value, int)])
    write_lines([(f"decided {verdict}", f"{count:,}") for verdict, count in found["verdicts"].items()])
    write_lines([(f"by {reviewer}", f"{count:,}") for reviewer, count in found["reviewers"].items()])
    for document_id in found["missing"][:_SHOWN]:
        tell(f"missing: {document_id}")


@app.command()
def purge(
    desk: DESK,
    document: Annotated[
        list[str] | None, typer.Option(help="Erase all that the desk has of this document. May be repeated.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Erase the texts of all documents from the file; with --document, everything about some documents.

    Without --document, surfaces and decisions remain, so that corrections can still be exported. The desk must not be served.

    Example: onym review purge desk.sqlite --document 10192393 --yes
    """
    from onym.review.desk import open_desk

    if not yes:
        typer.confirm("Erase this from the desk? It cannot be undone", abort=True)
    with open_desk(desk, exclusive=True) as opened:
        erased = opened.purge(document or ())
    if json:
        write_json({"erased": erased})
    else:
        write_lines([("documents erased", f"{erased:,}")])


@app.command()
def export(
    desk: DESK,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="New file. .onymc: corrections. .sssom.tsv: mappings. .names.csv: synonyms for onym kb build. Another .csv, "
            ".tsv, .xlsx, .jsonl or .parquet: a row for each decided link. With --format: documents.",
        ),
    ],
    format: Annotated[  # noqa: A002
        str, typer.Option(help="Corpus format for documents as training data: pubtator, bioc_xml, jsonl or another.")
    ] = "",
    kb: Annotated[
        Path | None, typer.Option("--kb", callback=resolve_kb, help="Knowledge base for the names of concepts found by search.")
    ] = None,
    force: Annotated[bool, FORCE] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Write the decisions of a desk: corrections, mappings, a table, or training data. The file can only be read by you.

    Example: onym review export desk.sqlite -o corrections.onymc
    Example: onym review export desk.sqlite --format pubtator -o reviewed.pubtator
    """
    from onym.kb import KnowledgeBase
    from onym.review.desk import open_desk
    from onym.review.export import export_desk
    from onym.store.output import require_file

    require_file(output, force=force)
    with open_desk(desk) as opened:
        known = KnowledgeBase.open(kb) if kb else None
        count = export_desk(opened, output, known, format=format, force=force)
    if json:
        write_json({"written": count, "output": str(output)})
    else:
        write_lines([("written", f"{count:,}")])


def _settings() -> type[ReviewSettings]:
    from onym.serve.review import ReviewSettings

    return ReviewSettings


_SERVED = ("host", "port", "blind", "tls_cert", "tls_key")
_NOT_SERVED = (
    "workers", "engine", "address", "max_workers", "match_precision", "public_url", "max_text", "max_wait"
)  # fmt: skip


@app.command(cls=command_with(config=ConfigOptions(_settings, common=_SERVED, without=_NOT_SERVED)))
def serve(
    context: typer.Context,
    desk: DESK,
    kb: Annotated[
        Path, typer.Option("--kb", callback=resolve_kb, help="Knowledge base of the links, or the pipeline that has it.")
    ],
    accounts: Annotated[
        Path | None,
        typer.Option(
            help="File with a name, a role (reader, reviewer) and a token on each line. Without it, only on loopback."
        ),
    ] = None,
    reviewer: Annotated[str, typer.Option(help="Without --accounts: name of the reviewer.")] = "reviewer",
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Additional allowed Host header, such as the name of a proxy. May be repeated."),
    ] = None,
    verify: Annotated[Verify, VERIFY] = "once",
    quiet: Annotated[bool, typer.Option("--quiet", help="Log warnings and errors only.")] = False,
) -> None:
    """Serve the page of a desk, on which people decide with the keyboard. A desk has one server.

    Example: onym review serve desk.sqlite --kb mesh-pipeline
    Example: onym review serve desk.sqlite --kb mesh-pipeline --host 0.0.0.0 --accounts accounts.txt
    """
    import logging

    from onym.errors import missing_extra
    from onym.kb import KnowledgeBase

    try:
        from onym.serve.review import ReviewSettings, read_accounts, run_review
    except ImportError as e:
        raise missing_extra("the service", "serve") from e
    known = KnowledgeBase.open(kb, verify=verify)
    found = read_accounts(accounts) if accounts else ()
    settings = ReviewSettings(accounts=found, reviewer=reviewer, allow_hosts=tuple(allow_host or ()), **context.obj["config"])
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("onym.serve").setLevel(logging.WARNING if quiet else logging.INFO)
    run_review(desk, known, settings)


@app.command()
def merge(
    desks: Annotated[list[Path], typer.Argument(metavar="DESK...", help="Copies of one desk (.sqlite).")],
    output: Annotated[Path, typer.Option("--output", "-o", help="New desk (.sqlite) with the decisions of all.")],
    disagreements: Annotated[
        bool, typer.Option("--disagreements", help="Queue only links on which reviewers disagree, to be settled.")
    ] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Join copies of a desk that reviewers worked on separately. Every decision is kept, and counts once.

    Example: onym review merge ann.sqlite bob.sqlite --disagreements -o both.sqlite
    """
    from onym.review.merge import merge_desks
    from onym.store.output import require_file

    require_file(output)
    rows = merge_desks(desks, output, disagreements=disagreements)._asdict()
    write_json({**rows, "output": str(output)}) if json else write_lines([(what, f"{n:,}") for what, n in rows.items()])


@app.command()
def agreement(
    desk: DESK,
    kb: Annotated[
        Path | None,
        typer.Option("--kb", callback=resolve_kb, help="Knowledge base, or a pipeline: also by distance in its hierarchy."),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(help="Leave out this reviewer, such as an adjudicator. May be repeated.")
    ] = None,
    disagreements: Annotated[Path | None, typer.Option(help="Write the links with different labels to this table.")] = None,
    verify: Annotated[Verify, VERIFY] = "once",
    json: Annotated[bool, JSON] = False,
) -> None:
    """Print how far the reviewers of a desk agree: Cohen's kappa by pair, Krippendorff's alpha.

    Example: onym review agreement both.sqlite --kb mesh-pipeline
    """
    from onym.kb import KnowledgeBase
    from onym.review.desk import open_desk
    from onym.review.reviewers import Reviewers, agreement_rows, write_disagreements

    known = KnowledgeBase.open(kb, verify=verify) if kb else None
    with open_desk(desk) as opened:
        reviewers = Reviewers(opened.decisions(), without or ())
        found = reviewers.measure(opened, known)
        if disagreements:
            write_disagreements(reviewers, opened, disagreements)
    write_json(found.as_dict()) if json else write_lines(agreement_rows(found))
