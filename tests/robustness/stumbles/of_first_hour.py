"""Check what a stranger meets in the first hour: arguments, left-over files, files that people have, output, training."""

from __future__ import annotations

import asyncio

from onym.packs.locate import load
from tests.robustness.stumbles.of_serve import serve
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


_NEGATED = "No chest pain, denies fever."


@stumble(f"onym link {_NEGATED!r}")
def a_negated_disease_is_never_shown_as_affirmed(scene: Scene) -> str:
    for words in (("link", _NEGATED), ("link", _NEGATED, "-o", "-"), ("explain", _NEGATED), ("link", _NEGATED, "--json")):
        assert scene.onym(*words).stdout.count("negated") == 2, words
    assert "negated" not in scene.onym("link", _NEGATED, "--no-assertion").stdout
    header, *rows = scene.terminal("link", _NEGATED).splitlines()[1:3]
    assert "marks" in header
    assert "negated" in rows[0]
    for name, words in (("linked.html", ("link", _NEGATED)), ("explained.html", ("explain", _NEGATED))):
        scene.onym(*words, "-o", name)
        assert (scene.folder / name).read_text().count("line-through") == 2, name
    return "tables, JSON, explanations and pages mark it; --no-assertion switches that off"


@stumble(f"onym batch plan, run and export with {_NEGATED!r}")
def a_batch_marks_negated_mentions(scene: Scene) -> str:
    (scene.folder / "notes.txt").write_text(_NEGATED)
    scene.onym("batch", "plan", "notes.txt", "-o", "run")
    scene.onym("batch", "run", "run", "--workers", "1")
    scene.onym("batch", "export", "run", "-o", "links.tsv")
    assert (scene.folder / "links.tsv").read_text().count("negated") == 2
    done = scene.onym("batch", "export", "run", "--format", "pubtator", "-o", "links.pubtator")
    assert "pubtator cannot store assertion marks" in done.stderr, done
    return "the exported table has the marks; an export to PubTator says that it has none"


@stumble("onym link TEXT -o linked.pubtator: a negated mention looks affirmed")
def a_format_that_cannot_store_the_marks_says_so(scene: Scene) -> str:
    done = scene.onym("link", _NEGATED, "-o", "linked.pubtator")
    notices = [line for line in done.stderr.splitlines() if "assertion marks" in line]
    assert done.status == 0
    assert len(notices) == 1, done
    return notices[0]


@stumble(f"""curl localhost:8080/v1/link -d '{{"text": "{_NEGATED}"}}': two links, assertion null""")
def the_service_marks_negated_mentions(scene: Scene) -> str:
    with serve(scene) as client:
        marked, bare = (
            [link["assertion"] for link in client.post("/v1/link", json={"text": _NEGATED} | more).json()["links"]]
            for more in ({}, {"assertion": False})
        )
        refused = client.post("/v1/link", json={"text": _NEGATED, "asertion": True}).json()["error"]["what"]
    assert (marked, bare) == (["negated"] * 2, [None] * 2)
    assert "asertion" in refused
    return str(refused)


@stumble("onym mcp: link and explain show a negated disease as affirmed")
def assistants_are_told_that_a_mention_is_negated(_: Scene) -> str:
    from mcp import Client

    from onym.integrations.mcp import build_server

    async def call(tool: str) -> list[str]:
        async with Client(build_server(load("starter"))) as client:
            result = await client.call_tool(tool, {"text": _NEGATED})
        return [row["assertion"] for row in result.structured_content["result"] if "concept_id" in row]

    for tool in ("link", "explain"):
        assert asyncio.run(call(tool)) == ["negated"] * 2, tool
    return "the rows of link and explain have `assertion: negated`"


@stumble('nlp.add_pipe("onym"): a negated disease is shown as affirmed')
def spacy_entities_have_assertion_marks(_: Scene) -> str:
    import spacy

    nlp = spacy.blank("en")
    nlp.add_pipe("onym", config={"pipeline": "starter"})
    assert [ent._.onym.assertion for ent in nlp(_NEGATED).ents] == [("negated",)] * 2
    return "`ent._.onym.assertion` is a tuple"


@stumble(
    "onym link \"Patients with asthma deny fever and have Lou Gehrig's disease, Crohn's disease\": all after fever negated"
)
def a_new_verb_ends_the_scope_of_a_negation(scene: Scene) -> str:
    sentences = {
        "Patients with asthma deny fever and have Lou Gehrig's disease, Crohn's disease": ["", "negated", "", ""],
        "He denies headache and presents with fever and cough.": ["negated", "", ""],
        "She has no fever, has asthma and takes aspirin.": ["negated", "", ""],
        "No evidence of pneumonia, started on amoxicillin.": ["negated", ""],
        "Without fever or rash, he developed seizures.": ["negated", "negated", ""],
    }
    for sentence, expected in sentences.items():
        lines = scene.onym("link", sentence).stdout.splitlines()
        assert [line.split("\t")[-1] for line in lines[1:]] == expected, sentence
    return "what follows `and have`, `and presents`, `, has` or `, started` is affirmed"


@stumble("onym review create mapped.sssom.tsv: internal-error")
def sssom_can_be_reviewed(scene: Scene) -> str:
    (scene.folder / "terms.csv").write_text("term\nfever\nasthma\n")
    scene.onym("map", "terms.csv", "--column", "term", "-o", "mapped.sssom.tsv")
    done = scene.onym("review", "create", "mapped.sssom.tsv", "--kb", "starter", "-o", "desk.sqlite")
    assert done.status == 0, done.stderr
    assert "links\t2" in done.stdout, done.stdout
    return "a desk with one link a term"


@stumble("onym link note.txt, with lines of a fixed width: what a new line denies looks affirmed")
def a_line_break_within_a_sentence_does_not_end_a_negation(scene: Scene) -> str:
    (scene.folder / "note.txt").write_text("Denies chest pain, dyspnea,\npalpitations and syncope.\nNo fever\nasthma\ngout\n")
    header, *rows = [line.split("\t") for line in scene.onym("link", "note.txt").stdout.splitlines()]
    marks = {row[header.index("text")]: row[header.index("assertion")] for row in rows}
    assert marks["syncope"] == marks["fever"] == "negated", marks
    assert marks["asthma"] == "", marks
    return "syncope is negated; the next line of a list is not"


@stumble("onym link notes, on a terminal: whose fever?")
def a_terminal_shows_the_document_of_each_row(scene: Scene) -> str:
    shown = scene.terminal("link", "I have asthma", "I have fever").splitlines()
    (header,) = [line.split() for line in shown if line.startswith("document")]
    assert header[:2] == ["document", "text"]
    assert [line.split()[:2] for line in shown if "MESH:" in line] == [["1", "asthma"], ["2", "fever"]]
    return "several documents have a column for their ids"
