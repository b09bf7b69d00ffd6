"""Attacks on outputs: an output that is an input, or another output, under any name."""

from __future__ import annotations

from pathlib import Path

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
