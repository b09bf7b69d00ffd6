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
