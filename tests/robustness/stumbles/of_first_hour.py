"""Check what a stranger meets in the first hour: arguments, left-over files, files that people have, output, training."""

from __future__ import annotations

from tests.robustness.stumbles.rows import Scene, stumble

_PATIENT = "John Smith has asthma."
_TORN = '{"id": "1", "text": "High fever"}\n{"id": "2"\n'


@stumble('onym link ""')
def an_empty_argument_is_an_error(scene: Scene) -> str:
    (scene.folder / "patient.txt").write_text(_PATIENT)
    for words in (("link", ""), ("explain", ""), ("link", _PATIENT, "-o", ""), ("review", "show", ""), ("kb", "info", "")):
        done = scene.onym(*words)
        assert done.status == 2, done
        assert "is empty" in done.stderr
        assert not done.stdout
    return "an unset variable of the shell is an error, and no file is read"


@stumble("onym link notes")
def a_folder_is_announced_before_its_files_are_read(scene: Scene) -> str:
    (scene.folder / "notes").mkdir()
    for number in (1, 2):
        (scene.folder / "notes" / f"{number}.txt").write_text(_PATIENT)
    first = scene.onym("link", "notes").stderr.splitlines()[0]
    assert first == "Reading notes: 2 files (2 text)."
    return first


@stumble('onym link "my notes.txt"')
def a_path_that_does_not_exist_is_never_linked_as_text_in_silence(scene: Scene) -> str:
    for name in ("my notes.txt", "ward/notes", "*.txt"):
        done = scene.onym("link", name)
        assert done.status == 3, done
        assert "no such file" in done.stderr
    done = scene.onym("link", "asthma")
    assert "neither a file nor a folder; it is linked as text" in done.stderr
    return "a path with a space is an error; a single word is linked, and a notice says so"


@stumble("onym link bad.jsonl --from jsonl, then onym link TEXT")
def a_run_leaves_nothing_behind_that_blocks_the_next(scene: Scene) -> str:
    (scene.folder / "bad.jsonl").write_text(_TORN)
    done = scene.onym("link", "bad.jsonl", "--from", "jsonl")
    assert done.status == 5, done
    assert "problem: [corpus-malformed]" in done.stderr
    assert [path.name for path in scene.folder.iterdir()] == ["bad.jsonl"]
    assert scene.onym("link", "I have asthma").status == 0
    return "problems of a run that prints go to stderr"


@stumble("onym link bad.jsonl -o links.tsv, deleted, and again")
def the_same_command_replaces_its_own_problem_file(scene: Scene) -> str:
    (scene.folder / "bad.jsonl").write_text(_TORN)
    for _ in range(2):
        done = scene.onym("link", "bad.jsonl", "-o", "links.tsv", "--problems", "problems.jsonl")
        assert done.status == 5, done
        assert len((scene.folder / "problems.jsonl").read_text().splitlines()) == 1
        (scene.folder / "links.tsv").unlink()
    return "a problem file of an earlier run is replaced"


@stumble("onym link TEXT, on a terminal")
def a_terminal_shows_what_a_person_reads(scene: Scene) -> str:
    shown = scene.terminal("link", "She has Crohn's disease. XYZ disease.").splitlines()
    assert shown[1].split() == ["text", "id", "preferred", "name", "confidence"], shown
    assert shown[2].split()[2:6] == ["MESH:D003424", "Crohn", "Disease", shown[2].split()[5]]
    assert len(shown[2].split()[5]) == len("0.95")
    assert shown[-1] == "1 linked, 1 not linked (--all lists them)"
    everything = scene.terminal("link", "She has Crohn's disease. XYZ disease.", "--all")
    assert "below-th" in everything
    return shown[2]


@stumble("onym link TEXT: crohn s disease")
def matched_names_are_written_as_in_the_vocabulary(scene: Scene) -> str:
    text = "Crohn's disease and Lou Gehrig's disease"
    for words in (
        ("link", text),
        ("link", text, "--json"),
        ("explain", text),
        ("kb", "search", "starter", "lou gehrig's disease"),
    ):
        done = scene.onym(*words)
        assert "Lou Gehrig's Disease" in done.stdout, done
        assert "matched name: 'crohn s" not in done.stdout
    scene.onym("explain", text, "-o", "page.html")
    assert "lou gehrig s disease" not in (scene.folder / "page.html").read_text()
    return "Lou Gehrig's Disease, in tables, JSON, explanations, searches and pages"


@stumble("onym link TEXT -o -")
def dash_writes_the_table_of_a_pipe(scene: Scene) -> str:
    piped, dashed = scene.onym("link", "I have asthma"), scene.onym("link", "I have asthma", "-o", "-")
    assert dashed.stdout == piped.stdout
    assert dashed.stdout.startswith("document\tstart\tend\ttext\t")
    return "-o - is the TSV with all columns"


@stumble("onym map terms.csv --column term -o mapped.tsv: 0.9921854701870346, ten candidates of .0001")
def tables_have_four_digits_and_likely_candidates(scene: Scene) -> str:
    (scene.folder / "terms.csv").write_text("term\nfever\nasthma\n")
    scene.onym("map", "terms.csv", "--column", "term", "-o", "mapped.tsv")
    header, *rows = [line.split("\t") for line in (scene.folder / "mapped.tsv").read_text().splitlines()]
    for row in (dict(zip(header, cells, strict=True)) for cells in rows):
        assert len(row["score"]) <= len("0.1234"), row
        assert row["candidates"].count(";") == 0, row
    linked = scene.onym("link", "I have asthma").stdout.splitlines()[1].split("\t")
    assert all(len(cell.partition(".")[2]) <= 4 for cell in linked), linked
    return rows[0][-1]


@stumble("onym map terms.csv --column term -o mapped.sssom.tsv: 447 mappings for 60 terms")
def sssom_has_one_mapping_a_term(scene: Scene) -> str:
    (scene.folder / "terms.csv").write_text("term\nfever\nasthma\n")
    words = ("map", "terms.csv", "--column", "term", "-o", "mapped.sssom.tsv", "--force")
    lines = {}
    for more in ((), ("--top-k", "3")):
        scene.onym(*words, *more)
        rows = [line for line in (scene.folder / "mapped.sssom.tsv").read_text().splitlines() if line[0] != "#"]
        lines[more] = len(rows) - 1
    assert lines[()] == 2, lines
    assert lines["--top-k", "3"] > 2, lines
    return f"{lines[()]} mappings for 2 terms"
