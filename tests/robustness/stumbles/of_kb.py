"""Check commands that build or open knowledge bases and read tables."""

from __future__ import annotations

from pathlib import Path

from onym.store.files.xlsx import read_cells, write_xlsx
from tests.robustness.stumbles.rows import Scene, stumble

_OBO = "format-version: 1.2\n\n[Term]\nid: HP:0001945\nname: Fever\n"


@stumble("onym kb build mesh -o mesh-kb")
def files_of_a_folder_that_are_not_read_are_listed(scene: Scene) -> str:
    folder = scene.folder / "mesh"
    folder.mkdir()
    (folder / "sample.obo").write_text(_OBO)
    (folder / "mesh.tsv").write_text("D000001\tCalcimycin\tA-23187\tD03.633\n")
    done = scene.onym("kb", "build", "mesh", "-o", "kb")
    assert done.status == 0, done.stderr
    assert "ignored 1 file" in done.stderr, done.stderr
    assert "mesh/mesh.tsv" in done.stderr, done.stderr
    assert "--format mesh_table" in done.stderr, done.stderr
    assert "mesh/mesh.tsv" in scene.onym("kb", "info", "kb").stdout
    return done.stderr.strip()


@stumble("onym kb build ward.csv -o ward-kb")
def a_csv_with_semicolons_is_built_and_mapped(scene: Scene) -> str:
    (scene.folder / "ward.csv").write_text("id;name\nward:1;Fever, high\n")
    (scene.folder / "terms.csv").write_text("n;term\n1;fever, high\n")
    done = scene.onym("kb", "build", "ward.csv", "-o", "kb")
    assert done.status == 0, done.stderr
    done = scene.onym("map", "terms.csv", "--column", "term", "--kb", "kb", "--linker", "exact", "-o", "out.tsv")
    assert done.status == 0, done.stderr
    row = (scene.folder / "out.tsv").read_text().splitlines()[1]
    assert "WARD:1" in row, row
    return "both read it"


@stumble("onym kb build ward.csv -o ward-kb")
def a_quote_that_is_not_closed_is_an_error(scene: Scene) -> str:
    (scene.folder / "ward.csv").write_text('id,name\nward:1,"Fever\nward:2,Cough\nward:3,Pain\n')
    built = scene.onym("kb", "build", "ward.csv", "-o", "kb")
    mapped = scene.onym("map", "ward.csv", "--column", "name", "--pipeline", "starter", "-o", "out.tsv")
    for done in (built, mapped):
        assert done.status == 3, done.stderr
        assert "[table-quote]" in done.stderr, done.stderr
        assert "ward.csv:2" in done.stderr, done.stderr
    assert not (scene.folder / "out.tsv").exists()
    return built.stderr.strip()


@stumble("onym map diagnoses.xlsx --column diagnosis -o mapped.xlsx")
def numbers_of_a_spreadsheet_stay_numbers(scene: Scene) -> str:
    _write_sheet(scene.folder / "terms.xlsx", [[17, 2.5, "influenza"]], ["n", "dose", "term"])
    done = scene.onym("map", "terms.xlsx", "--column", "term", "--pipeline", "starter", "-o", "out.xlsx")
    assert done.status == 0, done.stderr
    _, row = read_cells(scene.folder / "out.xlsx")
    assert row[:3] == (17, 2.5, "influenza"), row
    return f"numbers in, numbers out: {row[:2]}"


@stumble("onym map diagnoses.csv --column term")
def a_missing_column_is_reported_with_those_that_exist(scene: Scene) -> str:
    (scene.folder / "terms.csv").write_text("patient,diagnosis\n1,fever\n")
    done = scene.onym("map", "terms.csv", "--column", "term", "--pipeline", "starter", "-o", "out.tsv")
    assert done.status == 3, done.stderr
    assert "the columns are patient, diagnosis" in done.stderr, done.stderr
    return done.stderr.strip()


@stumble("onym kb build ward.xlsx -o ward-kb")
def a_spreadsheet_is_built(scene: Scene) -> str:
    _write_sheet(scene.folder / "ward.xlsx", [[1, "Fever"], [2, "Cough"]], ["id", "name"])
    done = scene.onym("kb", "build", "ward.xlsx", "-o", "kb")
    assert done.status == 0, done.stderr
    shown = scene.onym("kb", "show", "kb", "ward:2").stdout
    assert "Cough" in shown, shown
    return "2 concepts"


@stumble('onym kb search starter "heart attack"')
def a_pipeline_stands_for_its_knowledge_base(scene: Scene) -> str:
    done = scene.onym("kb", "search", "starter", "heart attack")
    assert done.status == 0, done.stderr
    assert done.stdout.startswith("mondo:0005068\t"), done.stdout
    shown = scene.onym("kb", "show", "starter", "MONDO:0005068")
    assert shown.status == 0, shown.stderr
    return done.stdout.strip()


def _write_sheet(path: Path, rows: list[list[object]], columns: list[str]) -> None:
    with path.open("wb") as file:
        write_xlsx(rows, columns, file)
