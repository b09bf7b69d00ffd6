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
