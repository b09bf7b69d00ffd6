"""Check commands that evaluate, compare and train."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import onym as onym_package
from onym.packs.locate import pack_folder
from tests.cli.command import onym
from tests.robustness.stumbles.rows import Result, Scene, stumble

FEVER, GOUT, COLD, ASPIRIN = "D005334", "D006073", "D003139", "D001241"
KB = f"""id\tname\ttype
mesh:{FEVER}\tfever\tDisease
mesh:{GOUT}\tgout\tDisease
mesh:{COLD}\tcold\tDisease
mesh:{ASPIRIN}\taspirin\tChemical
mesh:D015004\tyellow fever\tDisease
mesh:D012221\tgout fever\tDisease
"""
TEXTS = (
    ("Case {}: fever, cold.", (("fever", "Disease", FEVER),)),
    ("Case {}: gout and aspirin.", (("gout", "Disease", GOUT), ("aspirin", "Chemical", ASPIRIN))),
    ("Case {}: fever and aspirin, cold.", (("fever", "Disease", FEVER), ("aspirin", "Chemical", ASPIRIN))),
    ("Case {}: a cold fever.", (("fever", "Disease", FEVER),)),
)
NOTEBOOK = Path(__file__).parents[3] / "docs" / "notebooks" / "train-and-compare.ipynb"
MINE = ("--dataset", "mine", "--split", "train")
TRAIN = ("train", "pipeline", "--dataset", "mine", "--kb", "kb")


def prepare(scene: Scene) -> None:
    """Write a knowledge base and a dataset of 80 documents, in which `cold` is never a mention."""
    blocks = []
    for number in range(80):
        frame, mentions = TEXTS[number % len(TEXTS)]
        text = frame.format(number)
        lines = [f"{number}|t|{text}", f"{number}|a|"]
        for name, kind, concept in mentions:
            start = text.index(name)
            lines.append(f"{number}\t{start}\t{start + len(name)}\t{name}\t{kind}\t{concept}")
        blocks.append("\n".join(lines))
    (scene.folder / "kb.tsv").write_text(KB)
    (scene.folder / "mine.pubtator").write_text("\n\n".join(blocks) + "\n")
    onym("kb", "build", "kb.tsv", "-o", "kb", cwd=scene.folder)
    onym("dataset", "prepare", "mine.pubtator", "--name", "mine", "--shares", "0.5,0.25,0.25", cwd=scene.folder)


def require(done: Result) -> Result:
    """Return the result of a command that must succeed."""
    assert done.status == 0, done.stderr
    return done


@stumble("onym compare careful.jsonl eager.jsonl --dataset mine --protocol bhowmik-strict")
def pipelines_are_compared_by_f1(scene: Scene) -> str:
    prepare(scene)
    (scene.folder / "some.txt").write_text(f"mesh:{FEVER}\nmesh:{ASPIRIN}\n")
    pipelines: dict[str, tuple[str, ...]] = {"eager": (), "careful": ("--concepts", "some.txt")}
    for name, more in pipelines.items():
        onym("pipeline", "build", "--kb", "kb", "-o", name, *more, cwd=scene.folder)
        onym("evaluate", "--pipeline", name, *MINE, "--save", f"{name}.jsonl", cwd=scene.folder)
    files = ("compare", "careful.jsonl", "eager.jsonl", *MINE, "--kb", "kb", "--json")
    for words in (("--protocol", "bhowmik-strict"), ("--allow-partial",)):
        found = json.loads(require(scene.onym(*files, *words)).stdout)
        assert found["measure"] == "f1", found
        assert found["shares"]["recall"][0] < found["shares"]["recall"][1], found
        assert found["bootstrap"]["difference"] > 0, found
    return "F1 {first:.3f} against {second:.3f}, with an interval and p".format(**found)


@stumble("onym train pipeline -d mine --kb kb --type Disease -o trained && onym evaluate --pipeline trained -d mine")
def types_follow_the_pipeline(scene: Scene) -> str:
    prepare(scene)
    require(scene.onym(*TRAIN, "--type", "Disease", "-o", "trained"))
    own = json.loads(require(scene.onym("evaluate", "--pipeline", "trained", *MINE, "--json")).stdout)
    assert own["recall"] == 1.0, f"recall {own['recall']:.3f}, F1 {own['f1']:.3f}"
    assert own["types"] == ["Disease"], own
    given = json.loads(require(scene.onym("evaluate", "--pipeline", "trained", *MINE, "--type", "Chemical", "--json")).stdout)
    assert (given["types"], given["recall"]) == (["Chemical"], 0.0), given
    return f"types {', '.join(own['types'])}: F1 {own['f1']:.3f}"


NO_TORCH = """
from importlib.machinery import PathFinder
find_spec = PathFinder.find_spec
def find_installed(name, path=None, target=None):
    return None if name.partition(".")[0] in ("accelerate", "torch", "transformers") else find_spec(name, path, target)
PathFinder.find_spec = find_installed
"""
"""Python code that makes these packages impossible to import."""


@stumble("onym train pipeline --encoder none; onym train rerank (without torch)")
def trees_are_trained_without_torch(scene: Scene) -> str:
    prepare(scene)
    (scene.folder / "sitecustomize.py").write_text(NO_TORCH)
    path = os.pathsep.join(filter(None, (str(scene.folder), os.environ.get("PYTHONPATH"))))
    require(scene.onym(*TRAIN, "--encoder", "none", "-o", "trained", PYTHONPATH=path))
    own = ("--set", "data.datasets=['mine']", "--set", "data.kb=kb", "-o", "reranker")
    require(scene.onym("train", "rerank", *own, PYTHONPATH=path))
    return "both are trained"


@stumble("onym link --kb KB_FOLDER --detector-classifier THIS_FOLDER notes/ -o links.jsonl")
def commands_of_a_classifier_card_work(scene: Scene) -> str:
    (scene.folder / "notes").mkdir()
    (scene.folder / "notes" / "1.txt").write_text("Fever in cystic fibrosis.")
    folder = pack_folder("starter")
    folders = {"KB_FOLDER": str(folder / "knowledge-base"), "THIS_FOLDER": str(folder / "classifier")}
    lines = (folder / "classifier" / "README.md").read_text("utf-8").splitlines()
    commands = [line.removeprefix("$ onym ") for line in lines if line.startswith("$ onym ")]
    for command in commands:
        require(scene.onym(*(folders.get(word, word) for word in command.split())))
    assert "D003550" in (scene.folder / "links.jsonl").read_text()
    return f"{len(commands)} commands of the card work"


@stumble("train-and-compare.ipynb without ONYM_DATA")
def the_notebook_says_what_to_set(scene: Scene) -> str:
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    first = next("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    environment = {name: value for name, value in os.environ.items() if name != "ONYM_DATA"}
    done = subprocess.run(
        [sys.executable, "-c", first], cwd=scene.folder, env=environment, capture_output=True, text=True, check=False
    )
    last = done.stderr.strip().splitlines()[-1]
    assert "KeyError" not in last, last
    assert "%env ONYM_DATA=FOLDER" in last, last
    return last


@stumble("a docstring that follows another constant than its own, in recipes and end-to-end protocols")
def docstrings_follow_their_constants(scene: Scene) -> str:
    own = {
        "packs/locate.py": ("KB", "The folder of the knowledge base"),
        "evaluate/end_to_end.py": ("Spans", "The spans of each"),
    }
    for path, (name, beginning) in own.items():
        body = ast.parse((Path(onym_package.__file__).parent / path).read_text("utf-8")).body
        before = next(one for one, other in pairwise(body) if _docstring(other).startswith(beginning))
        assert ast.unparse(before).startswith(f"{name} = "), f"{path}: {ast.unparse(before)}"
    return "each follows its own"


def _docstring(node: ast.stmt) -> str:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return ast.unparse(node).strip("'\"") if is_text else ""
