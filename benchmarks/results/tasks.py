"""Evaluation tasks of linkers: a split of a dataset, the knowledge base to link to, and the mentions that are left out.

    ncbi_disease                NCBI disease as preprocessed by GenBioEL, linked to BioSyn's dictionary
    ncbi_disease_one_name       the same mentions, linked to only the first name of each concept; for an ablation
    ncbi_disease_open           the same mentions, linked to the open knowledge base
    ncbi_disease_biosyn         NCBI disease as preprocessed by BioSyn, with BioSyn's dictionary and protocol
    bc5cdr                      chemicals and diseases, linked to the open knowledge base
    bc5cdr_disease_biosyn       the diseases of BC5CDR as preprocessed by BioSyn, with BioSyn's dictionary and protocol
    biored_disease              the diseases of BioRED, linked to the open knowledge base
    biored_chemical             the chemicals of BioRED, linked to the open knowledge base
    hpo_gsc                     phenotypes, linked to the Human Phenotype Ontology
    askapatient_fold0           patients' phrases, linked to the labels and phrases of the fold's training file; 10 folds
    askapatient_fold0_labels    the same phrases, linked to the labels only

BioSyn's test dictionary contains the dev mentions as names, so dev is linked to BioSyn's dev dictionary, which does not.

Mentions whose gold ids are not in the knowledge base are left out, as in GenBioEL, and both counts are reported; BioSyn's
protocol counts them as wrong. In `bc5cdr` most of these ids were retired by MeSH. A table maps retired ids to successors, but
it was made by exact match of gold mentions (including test) against MeSH names, so an exact match is right on them almost by
definition. The main figures therefore do not use the table; `mapped_any_id_r1` does, over the `mapped` mentions whose gold id
is in the KB after mapping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from benchmarks.accuracy.kb_hpo import build_hpo_kb
from benchmarks.accuracy.kb_open import JOINED, build_open_kb, read_retired_ids
from benchmarks.report import data_folder
from onym.corpora.base import documents_of
from onym.corpora.formats import askapatient
from onym.datasets import PreparedDataset, get
from onym.datasets.base import DatasetFiles, members
from onym.datasets.catalogue import askapatient_files, dictionary_rows
from onym.datasets.prepared import open_dataset
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe, SourceConfig
from onym.store.cache import cache_folder
from onym.store.files.source import InputFile, Source
from onym.types import Document, NameKind

SPLITS = ("dev", "test")
ONE_NAME = "ncbi_disease_one_name"
GENBIOEL, _NCBI_BIOSYN, _BC5CDR_BIOSYN = "ncbi-disease-genbioel", "ncbi-disease-biosyn", "bc5cdr-disease-biosyn"
_LABELS = "labels.tsv"
FOLDS = 10
MESH = ("mesh",)
"""The vocabulary of the annotations in the corpora that are linked to the open knowledge base; it comes first."""

KbOf = Callable[[PreparedDataset, str], KnowledgeBase]
"""Function that returns the knowledge base of a split."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Definition of a task. `is_quick` means that its knowledge base is built in seconds.

    With protocol `any-id`, strict figures are computed as well. `of_type` restricts the task to mentions of one type.
    """

    title: str
    dataset: str
    kb: KbOf
    is_quick: bool = True
    replaced: Callable[[], dict[str, str]] = dict
    protocol: Literal["any-id", "biosyn"] = "any-id"
    of_type: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """One split of a dataset with its knowledge base. `replaced` maps retired ids, for an additional figure."""

    dataset: PreparedDataset
    split: str
    kb: KnowledgeBase
    replaced: dict[str, str] = field(default_factory=dict)
    protocol: str = "any-id"


class OfType(PreparedDataset):
    """A dataset restricted to mentions of one type."""

    of_type = ""

    def documents(self, split: str) -> Iterator[Document]:
        """Yield the documents of a split with only the mentions of this type."""
        for doc in super().documents(split):
            yield replace(doc, mentions=tuple(mention for mention in doc.mentions if mention.type == self.of_type))


def open_task(key: str, split: str) -> Task:
    """Open a task; missing artefacts are built in the cache directory."""
    kind = KINDS[key]
    prepared = open_dataset(kind.dataset, data_folder())
    kb = kind.kb(prepared, split)
    return Task(_of_type(prepared, kind.of_type), split, kb, kind.replaced(), kind.protocol)


def open_quick_task(split: str) -> Task:
    """Open NCBI disease with a small knowledge base of only its gold concepts, for quick runs."""
    prepared = open_dataset(GENBIOEL, data_folder())
    requested = {
        i.partition(":")[2] for doc in prepared.documents(split) for mention in doc.mentions for i in mention.concept_ids
    }

    def select_requested(lines: list[str]) -> list[str]:
        return [line for line in lines if not requested.isdisjoint(line.partition("||")[0].split("|"))]

    return Task(prepared, split, dictionary_kb(GENBIOEL, split, "-quick", select_requested))


def _of_type(prepared: PreparedDataset, of_type: str) -> PreparedDataset:
    if not of_type:
        return prepared
    part = OfType.open(prepared.folder)
    part.of_type = of_type
    return part


def open_kb() -> KnowledgeBase:
    """Return the open knowledge base, built on first use and cached."""
    return _open_kept("open-kb", build_open_kb, MESH)


def open_kb_joined() -> KnowledgeBase:
    """Return the open knowledge base with equivalent concepts merged and semantic groups; built on first use and cached."""
    return _open_kept("open-kb-joined", lambda folder: build_open_kb(folder, JOINED), MESH)


def hpo_kb() -> KnowledgeBase:
    """Return the Human Phenotype Ontology, built on first use and cached."""
    return _open_kept("benchmarks/hpo-kb", build_hpo_kb)


def medic_kb() -> KnowledgeBase:
    """Return MEDIC without mentions of the corpus (BioSyn's train dictionary)."""
    return dictionary_kb(GENBIOEL, "train")


def successors() -> dict[str, str]:
    """Return the retired ids that have exactly one successor, mapped to it."""
    table = read_retired_ids(data_folder() / "bc5cdr" / "retired_mesh_ids_candidates.tsv")
    return {f"mesh:{old}": f"mesh:{new[0]}" for old, new in table.items() if len(new) == 1}


def _open_kept(name: str, build: Callable[[Path], object], prefer: Sequence[str] = ()) -> KnowledgeBase:
    folder = cache_folder() / name
    if not (folder / "CURRENT").is_file():
        build(folder)
    return KnowledgeBase.open(folder, prefer=prefer)


def _own(prepared: PreparedDataset, _split: str) -> KnowledgeBase:
    return KnowledgeBase.open(prepared.kb_folder or "")


def _open(_prepared: PreparedDataset, _split: str) -> KnowledgeBase:
    return open_kb()


def _biosyn(prepared: PreparedDataset, split: str) -> KnowledgeBase:
    return _own(prepared, split) if split == "test" else dictionary_kb(prepared.name, split)


def _hpo(_prepared: PreparedDataset, _split: str) -> KnowledgeBase:
    return hpo_kb()


def _labels(_prepared: PreparedDataset, _split: str) -> KnowledgeBase:
    return _open_kept("benchmarks/askapatient-fold0-labels-kb", _build_labels)


def _first_names(_prepared: PreparedDataset, split: str) -> KnowledgeBase:
    """Return BioSyn's dictionary with only the first name of each concept, its MEDIC label."""
    return dictionary_kb(GENBIOEL, split, "-one-name", first_names)


def first_names(lines: list[str]) -> list[str]:
    """Return the first line of each id in a dictionary.

    >>> first_names(["1||fever", "1||pyrexia", "2|3||pain"])
    ['1||fever', '2|3||pain']
    """
    return list({line.partition("||")[0]: line for line in reversed(lines)}.values())[::-1]


def dictionary_kb(name: str, split: str, suffix: str = "", select: Callable[[list[str]], list[str]] = list) -> KnowledgeBase:
    """Return a dictionary from BioSyn's archive: MEDIC plus the mentions of the splits before this one."""

    def build(dest: Path) -> None:
        files, file = get(name).files, f"{split}_dictionary.txt"
        archive = next(each.path for each in files if each.is_archive)
        with members(DatasetFiles.find(data_folder(), files).source(archive), "", file).require(file).open() as stream:
            lines = stream.read().decode().splitlines()
        taken = InputFile.from_bytes(file, "".join(f"{line}\n" for line in select(lines)).encode())
        source = SourceConfig(path=file, format="biosyn", name="biosyn")
        build_kb(Recipe(sources=(source,), merge=False), dest, sources={file: Source.of_files(file, [taken])})

    corpus = "ncbi-disease" if name in (GENBIOEL, _NCBI_BIOSYN) else "bc5cdr-disease"
    return _open_kept(f"benchmarks/{corpus}-{split}{suffix}-kb", build)


def _build_labels(dest: Path) -> None:
    labels = ((concept_id, label) for concept_id, label, _ in askapatient_rows(0, lambda _doc: False))
    _build_table([("id", "name"), *labels], dest)


def askapatient_kb(name: str, rows: Iterable[tuple[str, str, str]]) -> KnowledgeBase:
    """Return an AskAPatient dictionary with these rows, built on first use and cached by name."""
    return _open_kept(f"benchmarks/{name}-kb", lambda dest: _build_table([("id", "name", "kind"), *rows], dest))


def askapatient_rows(fold: int, is_wanted: Callable[[Document], bool]) -> Iterator[tuple[str, str, str]]:
    """Yield (id, name, kind) from a fold's training file: its labels and, on request, its phrases."""
    inputs = DatasetFiles.find(data_folder(), get(f"askapatient-fold{fold}").files)
    for doc in documents_of(askapatient.read(inputs.source(askapatient_files(fold)["train"]))):
        rows = list(dictionary_rows(doc))
        yield from rows if is_wanted(doc) else [row for row in rows if row[2] == NameKind.PREFERRED.label]


def _build_table(rows: Iterable[tuple[str, ...]], dest: Path) -> None:
    lines = ["\t".join(map(_quote, row)) for row in dict.fromkeys(rows)]
    table = InputFile.from_bytes(_LABELS, "".join(f"{line}\n" for line in lines).encode())
    source = SourceConfig(path=_LABELS, format="table", name="askapatient", prefix="snomedct")
    build_kb(Recipe(sources=(source,)), dest, sources={_LABELS: Source.of_files(_LABELS, [table])})


def _quote(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


KINDS = {
    "ncbi_disease": Kind("NCBI disease, BioSyn's dictionary", GENBIOEL, _biosyn),
    ONE_NAME: Kind("NCBI disease, one name of each concept", GENBIOEL, _first_names),
    "ncbi_disease_open": Kind("NCBI disease, the open knowledge base", GENBIOEL, _open, is_quick=False),
    "ncbi_disease_biosyn": Kind("NCBI disease, BioSyn's dictionary and protocol", _NCBI_BIOSYN, _biosyn, protocol="biosyn"),
    "bc5cdr": Kind("BC5CDR, the open knowledge base", "bc5cdr", _open, is_quick=False, replaced=successors),
    "bc5cdr_disease_biosyn": Kind(
        "BC5CDR diseases, BioSyn's dictionary and protocol", _BC5CDR_BIOSYN, _biosyn, protocol="biosyn"
    ),
    "biored_disease": Kind("BioRED diseases, the open knowledge base", "biored", _open, is_quick=False, of_type="Disease"),
    "biored_chemical": Kind("BioRED chemicals, the open knowledge base", "biored", _open, is_quick=False, of_type="Chemical"),
    "hpo_gsc": Kind("GSC+, the Human Phenotype Ontology", "hpo-gsc", _hpo),
    "askapatient_fold0_labels": Kind("AskAPatient fold 0, labels alone", "askapatient-fold0", _labels),
} | {
    f"askapatient_fold{fold}": Kind(f"AskAPatient fold {fold}, labels and training phrases", f"askapatient-fold{fold}", _own)
    for fold in range(FOLDS)
}
