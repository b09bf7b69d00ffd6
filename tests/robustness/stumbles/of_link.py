"""Check commands that link or map: output formats, options that exclude each other, defaults, help and concept ids."""

from __future__ import annotations

import json

import onym
from tests.robustness.stumbles.rows import Scene, stumble

_MAX_HELP_LINES = 60
_TEXT = "Patients with type 2 diabetes and asthma"


@stumble("onym link notes -o links.parquet")
def output_format_follows_the_extension(scene: Scene) -> str:
    (scene.folder / "note.txt").write_text(_TEXT)
    for extension, start in {"parquet": b"PAR1", "html": b"<!doctype html>", "jsonl": b'{"kind":"predictions"'}.items():
        done = scene.onym("link", "note.txt", "-o", f"links.{extension}")
        assert done.status == 0, done.stderr
        assert (scene.folder / f"links.{extension}").read_bytes().startswith(start)
    return "Parquet, HTML and JSON lines are written by extension"


@stumble("onym link notes -o links.json")
def unknown_output_extension_is_refused(scene: Scene) -> str:
    for extension in (".json", ".txt"):
        done = scene.onym("link", "no-such-file.txt", "-o", f"links{extension}")
        assert done.status == 2, done.stderr
        assert extension in done.stderr
        assert ".parquet" in done.stderr
    assert not list(scene.folder.iterdir())
    return "refused before any work; the error lists the extensions that can be written"


@stumble("onym link notes --kb mesh --pipeline starter")
def kb_and_pipeline_cannot_be_combined(scene: Scene) -> str:
    for words in (("link", _TEXT), ("map", "terms.csv", "--column", "term")):
        done = scene.onym(*words, "--kb", "mesh", "--pipeline", "starter")
        assert done.status == 2, done.stderr
        assert "--kb and --pipeline cannot be combined" in done.stderr
        assert "is needed" not in done.stderr
    return "link and map say that --kb and --pipeline cannot be combined"


@stumble("onym map diagnoses.csv --column diagnosis")
def map_defaults_to_the_starter(scene: Scene) -> str:
    (scene.folder / "diagnoses.csv").write_text("diagnosis\ntype 2 diabetes mellitus\n")
    done = scene.onym("map", "diagnoses.csv", "--column", "diagnosis", "-o", "mapped.tsv")
    assert done.status == 0, done.stderr
    assert "starter" in done.stderr
    assert "MONDO:0005148" in (scene.folder / "mapped.tsv").read_text()
    return "terms are mapped with the starter, and a notice says so"


@stumble("onym link --help")
def help_fits_on_a_screen(scene: Scene) -> str:
    lines = {}
    for command in ("link", "map", "pipeline build"):
        done = scene.onym(*command.split(), "--help", COLUMNS="80")
        lines[command] = len(done.stdout.splitlines())
        assert lines[command] <= _MAX_HELP_LINES, lines
        assert f"onym {command} --help-all" in done.stdout.rstrip().splitlines()[-1]
        assert "--width" in scene.onym(*command.split(), "--help-all").stdout
    return f"lines of --help: {lines}; --help-all shows every option"


@stumble("onym link ... prints MONDO:0005148, Python returns mondo:0005148")
def both_forms_of_a_concept_id_are_properties(scene: Scene) -> str:
    link = onym.load("starter").link("type 2 diabetes mellitus").links[0]
    printed = json.loads(scene.onym("link", "type 2 diabetes mellitus", "--json").stdout)["links"][0]["concept_id"]
    assert (link.concept_id, link.obo_id) == ("mondo:0005148", printed)
    assert link.candidates[0].obo_id == printed
    return f"link.concept_id is {link.concept_id}; link.obo_id and the command line have {printed}"
