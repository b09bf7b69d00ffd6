"""What the generative linker is judged on: a split of a benchmark, the knowledge base it links to, and who is left out.

    ncbi_disease                NCBI's diseases as GenBioEL prepares them, linked to BioSyn's dictionary
    ncbi_disease_one_name       the same mentions, linked to the first name of each concept of it; for an ablation
    ncbi_disease_open           the same mentions, linked to the open knowledge base
    bc5cdr                      chemicals and diseases, linked to the open knowledge base
    askapatient_fold0           phrases of patients, linked to the labels and the phrases of the fold's training file
    askapatient_fold0_labels    the same, linked to the labels alone

BioSyn's dictionary for testing has the mentions of dev among its names: dev is linked to the dictionary for dev, which has not.

Mentions whose ids the knowledge base lacks are left out, as GenBioEL leaves out what its own lacks, and both counts are given.
Of the tests that concerns `bc5cdr` alone, where most of them have an id that MeSH retired. There is a table of successors, but
it was made by looking up the gold mentions, those of test too, among the names of MeSH: by it such a mention has as its gold
what an exact match finds, and is right almost by definition. So the figures are those without the table, and `mapped_any_id_r1`
is beside them, over the `mapped` mentions that are within reach with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.kb_open import build_open_kb, retired_ids
from benchmarks.report import data_folder
from onym.corpora.base import documents_of
from onym.corpora.benchmarks import Prepared, get
from onym.corpora.benchmarks.askapatient import files_of
from onym.corpora.benchmarks.cached import open_benchmark
from onym.corpora.benchmarks.inputs import Inputs, members
from onym.corpora.formats import askapatient
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe, SourceConfig
from onym.store.source import InputFile, Source
from onym.store.verified import cache_folder

SPLITS = ("dev", "test")
ONE_NAME = "ncbi_disease_one_name"
_NCBI = "ncbi-disease-genbioel"
_FOLD, _LABELS = 0, "labels.tsv"

KbOf = Callable[[Prepared, str], KnowledgeBase]
"""Returns the knowledge base that a split is linked to."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a key stands for. `is_quick` says that its knowledge base is built in seconds."""

    title: str
    benchmark: str
    kb: KbOf
    is_quick: bool = True
    replaced: Callable[[], dict[str, str]] = dict


@dataclass(frozen=True, slots=True)
class Task:
    """One split of a benchmark, ready to be judged. `replaced` maps retired ids, for a figure beside the others."""

    benchmark: Prepared
    split: str
    kb: KnowledgeBase
    replaced: dict[str, str] = field(default_factory=dict)


def task(key: str, split: str) -> Task:
    """Open a task; what was never built on this machine is built in the cache folder."""
    kind = KINDS[key]
    prepared = open_benchmark(kind.benchmark, data_folder())
    return Task(prepared, split, kind.kb(prepared, split), kind.replaced())


def open_kb() -> KnowledgeBase:
    """Return the open knowledge base, built once and kept."""
    return _kept("open-kb", build_open_kb)


def medic_kb() -> KnowledgeBase:
    """Return MEDIC alone, without a mention of the corpus: BioSyn's dictionary for train."""
    return _dictionary("train")


def successors() -> dict[str, str]:
    """Return retired ids with their successors, where the table knows one."""
    table = retired_ids(data_folder() / "bc5cdr" / "retired_mesh_ids_candidates.tsv")
    return {f"mesh:{old}": f"mesh:{new[0]}" for old, new in table.items() if len(new) == 1}


def _kept(name: str, build: Callable[[Path], object]) -> KnowledgeBase:
    folder = cache_folder() / name
    if not (folder / "CURRENT").is_file():
        build(folder)
    return KnowledgeBase.open(folder)


def _own(prepared: Prepared, _split: str) -> KnowledgeBase:
    return KnowledgeBase.open(prepared.kb_folder or "")


def _open(_prepared: Prepared, _split: str) -> KnowledgeBase:
    return open_kb()


def _biosyn(prepared: Prepared, split: str) -> KnowledgeBase:
    return _dictionary("dev") if split == "dev" else _own(prepared, split)


def _labels(_prepared: Prepared, _split: str) -> KnowledgeBase:
    return _kept(f"benchmarks/askapatient-fold{_FOLD}-labels-kb", _build_labels)


def _first_names(_prepared: Prepared, split: str) -> KnowledgeBase:
    """Return the first name of each concept of BioSyn's dictionary: what MEDIC calls it."""
    return _dictionary(split, "-one-name", first_names)


def first_names(lines: list[str]) -> list[str]:
    """Return of the lines of a dictionary the first with each id.

    >>> first_names(["1||fever", "1||pyrexia", "2|3||pain"])
    ['1||fever', '2|3||pain']
    """
    return list({line.partition("||")[0]: line for line in reversed(lines)}.values())[::-1]


def _dictionary(split: str, suffix: str = "", chosen: Callable[[list[str]], list[str]] = list) -> KnowledgeBase:
    """Return one of the dictionaries in BioSyn's archive: MEDIC, and the mentions of the splits before this one."""

    def build(dest: Path) -> None:
        needs, file = get(_NCBI).needs, f"{split}_dictionary.txt"
        archive = next(need.path for need in needs if need.is_archive)
        with members(Inputs(data_folder(), needs).source(archive), "", file).require(file).open() as stream:
            lines = stream.read().decode().splitlines()
        taken = InputFile.from_bytes(file, "".join(f"{line}\n" for line in chosen(lines)).encode())
        source = SourceConfig(path=file, format="biosyn", name="biosyn")
        build_kb(Recipe(sources=(source,), merge=False), dest, opened={file: Source.of_files(file, [taken])})

    return _kept(f"benchmarks/ncbi-disease-{split}{suffix}-kb", build)


def _build_labels(dest: Path) -> None:
    inputs = Inputs(data_folder(), get(f"askapatient-fold{_FOLD}").needs)
    documents = documents_of(askapatient.read(inputs.source(files_of(_FOLD)["train"])))
    labels = [
        (mention, dict(mention.notes).get(askapatient.NAME, mention.surface)) for doc in documents for mention in doc.mentions
    ]
    rows = [(concept_id, label) for mention, label in labels for concept_id in mention.concept_ids]
    lines = ["\t".join(map(_quoted, row)) for row in dict.fromkeys([("id", "name"), *rows])]
    table = InputFile.from_bytes(_LABELS, "".join(f"{line}\n" for line in lines).encode())
    source = SourceConfig(path=_LABELS, format="table", name="askapatient", prefix="snomedct")
    build_kb(Recipe(sources=(source,)), dest, opened={_LABELS: Source.of_files(_LABELS, [table])})


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


KINDS = {
    "ncbi_disease": Kind("NCBI disease, BioSyn's dictionary", _NCBI, _biosyn),
    ONE_NAME: Kind("NCBI disease, one name of each concept", _NCBI, _first_names),
    "ncbi_disease_open": Kind("NCBI disease, the open knowledge base", _NCBI, _open, is_quick=False),
    "bc5cdr": Kind("BC5CDR, the open knowledge base", "bc5cdr", _open, is_quick=False, replaced=successors),
    "askapatient_fold0": Kind("AskAPatient fold 0, labels and training phrases", f"askapatient-fold{_FOLD}", _own),
    "askapatient_fold0_labels": Kind("AskAPatient fold 0, labels alone", f"askapatient-fold{_FOLD}", _labels),
}
