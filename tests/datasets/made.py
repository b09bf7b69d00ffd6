"""Tiny made-up corpora in the file layout of each source."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

from onym.datasets import get
from onym.datasets.base import DatasetFiles, DropCounts
from onym.types import Document

FEVER, COUGH, PAIN = "D005334", "D003371", "D010146"


def pubtator(*blocks: str) -> str:
    return "\n\n".join(blocks) + "\n"


def block(document_id: str, title: str, *rows: str) -> str:
    """Return a document without an abstract; rows are `surface, type, ids`, annotated at the first match of the surface."""
    lines = [f"{document_id}|t|{title}", f"{document_id}|a|"]
    for row in rows:
        surface, kind, ids = row.split("\t", 2)
        start = title.index(surface)
        lines.append(f"{document_id}\t{start}\t{start + len(surface)}\t{surface}\t{kind}\t{ids}")
    return "\n".join(lines)


NCBI = {
    "train": pubtator(
        block("1", "High fever and HT", f"fever\tModifier\t{FEVER}", "HT\tSpecificDisease\tD006973"),
        block("2", "Fever and cough", f"Fever and cough\tCompositeMention\t{FEVER}|{COUGH}"),
        block("1", "High fever and HT", f"fever\tModifier\t{FEVER}"),
    ),
    "dev": pubtator(
        block("3", "A FEVER or pains", f"FEVER\tModifier\t{FEVER}", f"FEVER or pains\tDiseaseClass\t{FEVER}+{PAIN}")
    ),
    "test": pubtator(block("4", "İ High fever, OMIM too", f"fever\tModifier\t{FEVER}", "OMIM\tModifier\tOMIM:608446")),
}
CONCEPTS = {
    "train/1": f"1||5|10||Modifier||fever||{FEVER}\n1||15|17||SpecificDisease||hypertension||D006973\n",
    "train/2": f"2||0|15||CompositeMention||fever|cough||{FEVER}|{COUGH}\n",
    "dev/3": f"3||2|7||Modifier||fever||{FEVER}\n3||2|16||DiseaseClass||fever|pains||{FEVER}+{PAIN}\n",
    "test/4": f"4||7|12||Modifier||fever|cough|| {FEVER}\n4||14|18||Modifier||omim||608446\n4||0|1||Modifier||x||cui-less\n",
}
DICTIONARY = f"{FEVER}|608446||fever\nD006973||hypertension\n{COUGH}+{PAIN}||cough pain\n608446||omim\n"
SPECIES = {
    "Train": pubtator(block("1", "A mouse and a rat", "mouse\tSpecies\t10090", "rat\tSpecies\t-1")),
    "Test": pubtator(
        block("1", "A mouse and a rat", "mouse\tSpecies\t10090"), block("5", "The Mouse", "Mouse\tSpecies\t10090")
    ),
}
COMETA = "ID\tTerm\tGeneral SNOMED Label\tGeneral SNOMED ID\tSpecific SNOMED Label\tSpecific SNOMED ID\tExample\n"


def write_ncbi(folder: Path) -> Path:
    for split, word in (("train", "train"), ("dev", "develop"), ("test", "test")):
        write(folder / "ncbi_disease" / f"NCBI{word}set_corpus.txt", NCBI[split])
    return folder


def write_graded(folder: Path, documents: int = 20) -> Path:
    """Write an NCBI corpus; each dev document has three names with right ids, one with a wrong id, and one not annotated."""
    text = "Fever, pyrexia, heart attack, hypertension {}, myocardial infarction"
    right = (f"Fever\tModifier\t{FEVER}", f"pyrexia\tModifier\t{FEVER}", "heart attack\tModifier\tD009203")
    made = [block(str(100 + row), text.format(row), *right, f"hypertension\tModifier\t{FEVER}") for row in range(documents)]
    write_ncbi(folder)
    write(folder / "ncbi_disease" / "NCBIdevelopset_corpus.txt", pubtator(*made))
    return folder


def write_biosyn(
    folder: Path, name: str = "ncbi-disease", *, packed: bool = True, concepts: dict[str, str] | None = None
) -> Path:
    """Write BioSyn's folders, either as plain folders or as a tar archive."""
    files = {f"{name}/processed_{path}.concept": text for path, text in {**CONCEPTS, **(concepts or {})}.items()}
    files[f"{name}/test_dictionary.txt"] = DICTIONARY
    files[f"{name}/train_dictionary.txt"] = "D000001||never read\n"
    if not packed:
        for path, text in files.items():
            write(folder / "biosyn_format" / path, text)
        return folder
    (folder / "biosyn_format").mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / "biosyn_format" / f"{name}.tar.gz", "w:gz") as archive:
        for path, text in files.items():
            info = tarfile.TarInfo(path)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return folder


def write_species(folder: Path) -> Path:
    for split, text in SPECIES.items():
        write(folder / "pubtator" / f"SPECIES_{split}.PubTator", text)
    return folder


def write_askapatient(folder: Path, fold: int = 0) -> Path:
    texts = {
        "train": '386661006\tFever\tburning "hot"\n386661006\tFever\tFever\n25064002\tHeadache\tcaf\xe9 head\nno code\n',
        "validation": "386661006\tFever\tshivers\n",
        "test": "25064002\tHeadache\tCaf\xe9 Head!\n-1\tNothing\tnothing\n",
    }
    for word, text in texts.items():
        path = folder / "askapatient" / f"AskAPatient.fold-{fold}.{word}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("latin-1"))
    return folder


def write_gsc(folder: Path) -> Path:
    (folder / "hpo_gsc").mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / "hpo_gsc" / "corpus.zip", "w") as archive:
        for split in ("dev", "test"):
            text = f"{split}1\nHigh fever.\n5\t10\tfever\tHP:0001945\n0\t4\tHigh\t-1\n"
            archive.writestr(f"corpus/GSC/GSCplus_{split}_gold.tsv", text)
        archive.writestr("corpus/JAX/JAX_gold.json", "{}")
    return folder


def write_medmentions(folder: Path, part: str = "full") -> Path:
    ids = {"trng": "11", "dev": "12", "test": "13"}
    blocks = [block(pmid, "High fever", "fever\tT184\tC0015967") for pmid in (*ids.values(), "99")]
    write(folder / "MedMentions" / part / "data" / "corpus_pubtator.txt", pubtator(*blocks, "12|t|x\n13|a|"))
    for word, pmid in ids.items():
        write(folder / "MedMentions" / "full" / "data" / f"corpus_pubtator_pmids_{word}.txt", f"{pmid}\n")
    return folder


def write_cometa(folder: Path) -> Path:
    for split in ("train", "dev", "test"):
        rows = f"{split}1\tfever\tFever\t386661006\tHigh fever\t64882008\ta high fever\n{split}2\tnil\tX\t-1\t\t\tnil\n"
        write(folder / "cometa" / "splits" / "stratified_general" / f"{split}.csv", COMETA + rows)
    return folder


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def read(name: str, folder: Path) -> tuple[dict[str, list[Document]], DropCounts]:
    """Return a dataset's documents by split and the drop counts, without writing files."""
    dataset, drops = get(name), DropCounts()
    documents: dict[str, list[Document]] = {}
    for split, doc in dataset.read(DatasetFiles.find(folder, dataset.files), drops):
        documents.setdefault(split, []).append(doc)
    return documents, drops


def count_drops(drops: DropCounts, split: str) -> dict[str, int]:
    return dict(Counter(drops.dropped[split]))
