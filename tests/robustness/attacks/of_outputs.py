"""Attacks on outputs: an output that is an input, or another output, under any name."""

from __future__ import annotations

from pathlib import Path

from onym.review.audit import create_audit, plan_audit
from tests.review.desks import list_documents
from tests.robustness.attacks.rows import Place, attack

_TABLE = "term,concept_id\nfever,mesh:D005334\n"


def _require_kept(place: Place, *more: object) -> None:
    table, kb = place.folder / "in.csv", place.kb_path
    table.write_text(_TABLE)
    place.onym("migrate", table, "--from", kb, "--to", kb, *more).require_refused("output-exists")
    assert table.read_text() == _TABLE
    assert sorted(path.name for path in place.folder.iterdir() if path.is_file()) == ["in.csv"]


@attack("the audit table of a migration is its output")
def audit_is_the_output(place: Place) -> None:
    for path in ("out.csv", "./out.csv", place.folder / "out.csv"):
        _require_kept(place, "-o", "out.csv", "--audit", path)


@attack("the audit table of a migration is its input, with --force")
def audit_is_the_input(place: Place) -> None:
    _require_kept(place, "-o", "out.csv", "--audit", "in.csv", "--force")


@attack("the output of a migration is its input, with --force")
def output_is_the_input(place: Place) -> None:
    _require_kept(place, "-o", "./in.csv", "--force")


@attack("the audit table of a migration is its queue")
def audit_is_the_queue(place: Place) -> None:
    _require_kept(place, "-o", "out.csv", "--strict", "--audit", "out.csv.review.csv")


@attack("the audit table of a migration is a hard link to its input, with --force")
def audit_is_a_link_to_the_input(place: Place) -> None:
    table, other = place.folder / "in.csv", place.folder / "folder"
    other.mkdir()
    table.write_text(_TABLE)
    (other / "same.tsv").hardlink_to(table)
    _require_kept(place, "-o", "out.csv", "--audit", Path("folder/same.tsv"), "--force")


_NOTES = "1|t|Fever\n1|a|\n1\t0\t5\tFever\tDisease\tD005334\n\n"


def _require_input_kept(place: Place, path: Path, *words: object) -> None:
    """Run a command with `--force`; the files of its input must stay as they are."""
    before = {each: each.read_bytes() for each in (path, *path.rglob("*")) if each.is_file()}
    done = place.onym(*words, "--force").require_told()
    assert {each: each.read_bytes() for each in (path, *path.rglob("*")) if each.is_file()} == before, done
    done.require_refused("output-exists")


def _write_notes(place: Place) -> Path:
    path = place.folder / "notes.pubtator"
    path.write_text(_NOTES)
    return path


@attack("the output of onym link is its input, or a link to it, with --force")
def links_replace_their_documents(place: Place) -> None:
    notes, link = _write_notes(place), place.folder / "same.pubtator"
    link.hardlink_to(notes)
    for output in ("notes.pubtator", "./notes.pubtator", "same.pubtator"):
        _require_input_kept(place, notes, "link", notes, "--kb", place.kb_path, "-o", output)


@attack("the problems or the keys of notes of onym link are its input or its output, with --force")
def side_outputs_of_links_replace_documents(place: Place) -> None:
    notes = _write_notes(place)
    common = ("link", notes, "--kb", place.kb_path)
    _require_input_kept(place, notes, *common, "-o", "links.jsonl", "--problems", notes)
    _require_input_kept(place, notes, *common, "-o", "links.jsonl", "--problems", "./links.jsonl")
    _require_input_kept(place, notes, *common, "-o", "note_nlp.csv", "--format", "omop", "--note-keys", notes)


@attack("a corpus is converted onto itself, a file or a folder, with --force")
def corpus_is_converted_onto_itself(place: Place) -> None:
    notes, folder = _write_notes(place), place.folder / "brat"
    place.onym("corpus", "convert", notes, folder, "--to", "brat")
    _require_input_kept(place, notes, "corpus", "convert", notes, notes, "--to", "jsonl")
    _require_input_kept(place, folder, "corpus", "convert", folder, "./brat", "--to", "brat")
    _require_input_kept(place, notes, "corpus", "convert", notes, "new.jsonl", "--to", "jsonl", "--problems", notes)


@attack("the output of onym map is its input, with --force")
def mapped_terms_replace_the_table(place: Place) -> None:
    table = place.folder / "in.csv"
    table.write_text(_TABLE)
    _require_input_kept(place, table, "map", table, "--column", "term", "--kb", place.kb_path, "-o", "./in.csv")


@attack("the page of onym show is its input, with --force")
def page_replaces_the_documents(place: Place) -> None:
    notes = _write_notes(place)
    _require_input_kept(place, notes, "show", notes, "-o", "./notes.pubtator")


@attack("the export or the report of a desk is the desk, with --force")
def report_replaces_the_desk(place: Place) -> None:
    for name, words in (("a.sqlite", ("audit", "report")), ("b.names.csv", ("review", "export"))):
        desk, documents = place.folder / name, list_documents()
        create_audit(desk, documents, place.kb, {}, plan=plan_audit(documents))
        _require_input_kept(place, desk, *words, desk, "-o", f"./{name}")


_KILLED = """
import os, sys
left = int(sys.argv.pop(1))
def count(event, arguments):
    global left
    if event == "os.rename" and str(arguments[1]).startswith(("migrated", os.getcwd())):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), 9)
sys.addaudithook(count)
from onym.cli.boundary import main
main()
"""


@attack("onym migrate --force is killed before each of its renames")
def migration_is_killed_between_its_renames(place: Place) -> None:
    kb, number, killed = place.kb_path, 0, True
    output, audit = place.folder / "migrated.csv", place.folder / "migrated.csv.audit.tsv"
    while killed:
        for path in (output, audit):
            path.unlink(missing_ok=True)
        (place.folder / "in.csv").write_text(_TABLE)
        place.onym("migrate", "in.csv", "--from", kb, "--to", kb, "-o", output.name)
        (place.folder / "in.csv").write_text(_TABLE * 2)
        words = ("migrate", "in.csv", "--from", kb, "--to", kb, "-o", output.name, "--force")
        killed = place.python_apart(_KILLED, number, *words).status == -9
        links = len(output.read_text().splitlines()) - 1
        assert not audit.exists() or len(audit.read_text().splitlines()) - 1 == links, number
        number += 1
    assert number > 1
    assert audit.exists()
    assert sorted(path.name for path in place.folder.iterdir() if "onym" in path.name) == []
